"""Resampling: the same fit to many reweighted versions of one table, all solved side by side.

A resample is a vector of weights: how often each row (or each cluster of rows) was drawn, or zero for what
was left out. Refits start at the optimum of the whole table. So that they are not trapped near it, scouts
start from other admissible points too, and then every resample is tried on the solution of every other and
of every scout (one matrix product gives all those objectives): whoever finds a better one starts again there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depthlaw.numerics.levmar import Solutions
from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.terms import Array

BETTER = 1e-7
"""Relative gain in objective from which another resample's solution counts as better than one's own."""
MAX_EXCHANGES = 3
SCOUTS = 256
"""Resamples that also start elsewhere; what they find, the exchange passes on to all."""


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


def reach(groups: int, freedom: int, level: float) -> float:
    """How many standard deviations of resampled values an interval reaches to either side.

    A bootstrap over few groups spreads too little: its variance lacks the factor groups/freedom of an
    unbiased one, and Student's t is wider than the normal. Both are made up for here (Hesterberg 2015,
    *What teachers should know about the bootstrap*, §4.3).

    Parameters
    ----------
    groups
        Independent groups that were drawn from.
    freedom
        The groups less the parameters that they determine, at least 1.
    """
    return float(special.stdtrit(freedom, 0.5 + level / 2.0) * np.sqrt(groups / freedom))


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


def _crossed(problem: LogProblem, pool: Array, weights: Array) -> Array:
    """Objective (resamples, pool) of every point under every resample's weights."""
    residual = problem.residuals(pool)[0]
    usable = np.isfinite(residual).all(1)
    crossed = np.full((len(weights), len(pool)), np.inf)
    crossed[:, usable] = weights @ problem.loss(residual[usable])[0].T
    return crossed


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
        (points, params) further starts for the scouts; ``None`` for none.
    rng
        Chooses the scouts and their starts.
    """
    weights = counts * problem.weights
    resamples = len(weights)
    first = problem.solve(np.broadcast_to(optimum, (resamples, len(optimum))), weights=weights)
    params, converged = first.params, first.converged
    cost = np.where(np.isfinite(first.cost), first.cost, np.inf)
    from_optimum = cost.copy()

    def accept(rows: NDArray[np.intp], solved: Solutions) -> None:
        better = solved.cost < cost[rows]
        chosen = rows[better]
        params[chosen], cost[chosen] = solved.params[better], solved.cost[better]
        converged[chosen] = solved.converged[better]

    pool = params
    if others is not None and len(others):
        rng = rng or np.random.default_rng(0)
        scouts = rng.permutation(resamples)[:SCOUTS]
        away = problem.solve(others[rng.integers(0, len(others), len(scouts))], weights=weights[scouts])
        accept(scouts, away)
        # Also those that ended worse: another valley may be the better one for another resample.
        pool = np.concatenate([params, away.params])
    for _ in range(MAX_EXCHANGES):
        crossed = _crossed(problem, pool, weights)
        best = np.argmin(crossed, 1)
        worth = np.flatnonzero(crossed[np.arange(resamples), best] < cost * (1.0 - BETTER))
        if len(worth) == 0:
            break
        accept(worth, problem.solve(pool[best[worth]], weights=weights[worth]))
        pool = params
    return Refits(params, cost, converged, int((cost < from_optimum * (1.0 - BETTER)).sum()))
