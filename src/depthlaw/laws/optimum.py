"""The best point of a bound law, found from many starts at once, and the curvature there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depthlaw.errors import FitError
from depthlaw.laws.form import BoundForm
from depthlaw.laws.identify import Spectrum, spectrum
from depthlaw.numerics.losses import Huber, Squares
from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.starts import agreeing, exponent_starts, project_coefficients
from depthlaw.numerics.terms import Array

EXACT = 1e-11
"""Root mean squared log residual below which a law is exact: errors are rounding, not statistics."""


@dataclass(frozen=True)
class Optimum:
    """The best end of all starts, and where the others ended.

    Attributes
    ----------
    params
        (params,) internal parameters.
    cost
        Σ w·loss there.
    gradient
        Largest cosine between the residuals and a free column of the Jacobian.
    ends, end_costs
        (starts, params) and (starts,) where every start ended; the cost is infinite where it did not stay
        finite.
    restarts
        How often a profile came across a better point.
    """

    params: Array
    cost: float
    gradient: float
    converged: bool
    ends: Array
    end_costs: Array
    agreement: int
    restarts: int = 0


def find_optimum(bound: BoundForm, *, starts: int, seed: int) -> Optimum:
    """Solve from all starts side by side and return the best end.

    Raises
    ------
    FitError
        If no start stays finite.
    """
    problem = bound.problem
    total = float(problem.weights.sum())
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    exponents = exponent_starts(len(bound.log_scales), starts, rng)
    points = project_coefficients(
        bound.log_scales, problem.log_loss, problem.weights, exponents, floor=bound.form.floor
    )
    if isinstance(problem.loss, Huber):
        points = _towards(problem, points, problem.loss.delta)
    solved = problem.solve(points)
    costs = np.where(np.isfinite(solved.cost), solved.cost, np.inf)
    if not np.isfinite(costs).any():
        raise FitError("no start of the optimiser stayed finite.", "Check the units of the columns.")
    # Among ends that agree to rounding, the one with the smallest gradient is the most exact.
    same = agreeing(costs, float(costs.min()), total, tolerance=1e-12)
    best = int(np.flatnonzero(same)[np.argmin(solved.gradient[same])])
    return Optimum(
        params=solved.params[best],
        cost=float(costs[best]),
        gradient=float(solved.gradient[best]),
        converged=bool(solved.converged[best]),
        ends=solved.params,
        end_costs=costs,
        agreement=int(agreeing(costs, float(costs.min()), total).sum()),
    )


def _towards(problem: LogProblem, points: Array, delta: float) -> Array:
    """Lead starts to where a Huber objective of small ``delta`` can be solved.

    Where most residuals lie outside ``delta`` the objective is a sum of absolute values and has no curvature
    to follow. So squares are solved first, and the turning point is then lowered to ``delta`` in steps.
    """
    points = replace(problem, loss=Squares()).solve(points).params
    rms = float(np.sqrt(np.median(problem.residuals(points)[0] ** 2, -1).min()))
    for step in np.geomspace(max(2.0 * rms, delta), delta, 6)[:-1]:
        points = replace(problem, loss=Huber(float(step))).solve(points, max_iterations=40).params
    return points


def restart(bound: BoundForm, optimum: Optimum, better: Array) -> Optimum:
    """Go to a better point that a profile came across, and make it the optimum."""
    solved = bound.problem.solve(better[None])
    cost = float(solved.cost[0])
    agree = agreeing(optimum.end_costs, cost, float(bound.problem.weights.sum()))
    return replace(
        optimum,
        params=solved.params[0],
        cost=cost,
        gradient=float(solved.gradient[0]),
        converged=bool(solved.converged[0]),
        agreement=1 + int(agree.sum()),
        restarts=optimum.restarts + 1,
    )


@dataclass(frozen=True)
class Curvature:
    """The neighbourhood of an optimum.

    Attributes
    ----------
    spectrum
        Singular values, covariance, directions that the data do not see.
    pinned
        (free,) coordinates held by a bound.
    n_free
        Parameters that are neither constrained nor at a bound.
    variance
        s², the residual variance of a run of mean weight: weights say how runs compare, not how many there
        are.
    unit
        Increase of the objective that is one ζ² of a profile.
    exact
        Whether the residuals are rounding.
    """

    spectrum: Spectrum
    pinned: NDArray[np.bool_]
    n_free: int
    variance: float
    unit: float
    exact: bool

    def threshold(self, n_runs: int, level: float) -> float:
        """The \\|ζ\\| that bounds an interval: a quantile of Student's t."""
        # As scipy.stats.t.ppf, without importing scipy.stats: that takes three times as long as a fit.
        return float(special.stdtrit(n_runs - self.n_free, 0.5 + level / 2.0))


def curvature(bound: BoundForm, optimum: Optimum) -> Curvature:
    """Analyse the neighbourhood of ``optimum``."""
    problem = bound.problem
    pick = problem.map.pick
    at = optimum.params[pick]
    pinned = (at <= problem.lower[pick]) | (at >= problem.upper[pick])
    n_free = int((~pinned).sum())
    mean_weight = float(problem.weights.mean())
    variance = optimum.cost / mean_weight / (problem.n_runs - n_free)
    return Curvature(
        spectrum=spectrum(bound, optimum.params, pinned, variance),
        pinned=pinned,
        n_free=n_free,
        variance=variance,
        unit=variance * mean_weight,
        exact=bool(np.sqrt(optimum.cost / problem.weights.sum()) < EXACT),
    )
