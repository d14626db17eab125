"""Small problems with a known law, for every test of the numerics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from depthlaw.numerics.affine import AffineMap
from depthlaw.numerics.losses import Loss, Squares
from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.terms import Array, FloorTerm, PowerTerm

MakeProblem = Callable[..., LogProblem]


@pytest.fixture(scope="session")
def make_problem() -> MakeProblem:
    """Build a problem: log scales (each centred here) → losses of the law ``truth`` with noise."""

    def make(
        log_scales: list[Array],
        truth: Array,
        *,
        noise: float = 0.01,
        seed: int = 0,
        floor: bool = True,
        loss: Loss = Squares(),  # noqa: B008 - frozen and without state
    ) -> LogProblem:
        centred = [u - u.mean() for u in log_scales]
        size = 2 * len(centred) + 1
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        lower[1::2] = 0.0
        lower[-1] = 0.0
        limit = np.array([2.0, 1.0] * len(centred) + [0.5])
        problem = LogProblem(
            terms=[*(PowerTerm(u) for u in centred), FloorTerm()],
            log_loss=np.zeros(len(centred[0])),
            weights=np.ones(len(centred[0])),
            map=AffineMap.identity(size),
            lower=lower,
            upper=upper,
            step_limit=limit,
            loss=loss,
        )
        clean = np.log(problem.predict(np.asarray(truth, float)[None])[0])
        values = clean + noise * np.random.default_rng(seed).standard_normal(len(clean))
        made = LogProblem(**{**vars(problem), "log_loss": values})
        return made if floor else made.constrained(np.eye(size)[-1], 0.0, size - 1)

    return make


@pytest.fixture(scope="session")
def grid() -> list[Array]:
    """Logs of three crossed scales, 36 runs."""
    return [u.ravel() for u in np.meshgrid(np.log([1, 2, 4, 8]), np.log([1, 3, 9]), np.log([1, 5, 25]))]
