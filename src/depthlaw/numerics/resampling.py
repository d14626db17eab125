"""Resampling: the same fit to many reweighted versions of one table, all solved side by side.

A resample is a vector of weights: how often each row (or each cluster of rows) was drawn, or zero for what
was left out. Refits start at the optimum of the whole table and, so that they are not trapped near it, at
another admissible point each; afterwards every resample is tried on the solution of every other (one matrix
product gives all those objectives), and whoever finds a better one starts again from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depthlaw.numerics.levmar import Solutions
from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.terms import Array

BETTER = 1e-7
"""Relative gain in objective from which another resample's solution counts as better than one's own."""
MAX_EXCHANGES = 3


def draw_counts(rng: np.random.Generator, groups: NDArray[np.intp], resamples: int) -> Array:
    """Draw groups with replacement: how often each row is in each resample, (resamples, runs).

    Parameters
    ----------
    groups
        (runs,) index of the group of each row, 0 … n_groups − 1; ``np.arange(runs)`` resamples rows.
    """
    n_groups = int(groups.max()) + 1
    drawn = rng.integers(0, n_groups, (resamples, n_groups))
    counts = np.zeros((resamples, n_groups))
    np.add.at(counts, (np.arange(resamples)[:, None], drawn), 1.0)
    return counts[:, groups]


def leave_out_counts(groups: NDArray[np.intp]) -> Array:
    """Weights (groups, runs) that leave out one group each."""
    n_groups = int(groups.max()) + 1
    kept: Array = (groups[None, :] != np.arange(n_groups)[:, None]).astype(np.float64)
    return kept


@dataclass(frozen=True)
class Refits:
    """Refits of one table under many weights.

    Attributes
    ----------
    params
        (resamples, params).
    cost
        (resamples,) objective under its own weights.
    converged
        (resamples,) whether the gradient test was met.
    rescued
        Resamples that ended better than from the optimum alone.
    """

    params: Array
    cost: Array
    converged: NDArray[np.bool_]
    rescued: int


def refit(
    problem: LogProblem,
    optimum: Array,
    counts: Array,
    *,
    others: Array | None = None,
    rng: np.random.Generator | None = None,
) -> Refits:
    """Fit ``problem`` under each row of ``counts``.

    Parameters
    ----------
    optimum
        (params,) the solution for the whole table, the first start of every refit.
    counts
        (resamples, runs) factors on the problem's weights.
    others
        (points, params) further starts; each resample gets one of them at random. ``None`` for none.
    rng
        Chooses among ``others``.
    """
    weights = counts * problem.weights
    resamples = len(weights)
    first = problem.solve(np.broadcast_to(optimum, (resamples, len(optimum))), weights=weights)
    params, cost, converged = (
        first.params,
        np.where(np.isfinite(first.cost), first.cost, np.inf),
        first.converged,
    )
    from_optimum = cost.copy()

    def accept(rows: NDArray[np.intp], solved: Solutions) -> None:
        better = solved.cost < cost[rows]
        chosen = rows[better]
        params[chosen], cost[chosen] = solved.params[better], solved.cost[better]
        converged[chosen] = solved.converged[better]

    everyone = np.arange(resamples)
    if others is not None and len(others):
        picks = (rng or np.random.default_rng(0)).integers(0, len(others), resamples)
        accept(everyone, problem.solve(others[picks], weights=weights))
    for _ in range(MAX_EXCHANGES):
        rho = problem.loss(problem.residuals(params)[0])[0]
        crossed = weights @ np.where(np.isfinite(rho), rho, np.inf).T  # (resamples, whose solution)
        best = np.argmin(crossed, 1)
        worth = np.flatnonzero(crossed[everyone, best] < cost * (1.0 - BETTER))
        if len(worth) == 0:
            break
        accept(worth, problem.solve(params[best[worth]], weights=weights[worth]))
    return Refits(params, cost, converged, int((cost < from_optimum * (1.0 - BETTER)).sum()))
