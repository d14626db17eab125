"""Profile likelihood intervals of anything that can be computed from a law.

The interval of a quantity g is its range over the likelihood region {p: S(p) − S_min ≤ t² s²}: the profile of
g reaches the threshold exactly where g is extreme in that region. Each end is one small constrained
optimisation in coordinates in which the region is nearly a ball of radius t. (For single parameters the
batched search in `depthlaw.laws.intervals` finds the same ends.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from depthlaw.laws.bootstrap import rebind
from depthlaw.laws.form import BoundForm
from depthlaw.laws.identify import spectrum
from depthlaw.laws.optimum import EXACT
from depthlaw.laws.result import Fit
from depthlaw.numerics.terms import Array

Quantity = Callable[[Array], Array]
"""From points (laws, params) of the form to values (laws,)."""

FARTHEST = 40.0
"""Standard errors (of the quadratic approximation) after which an end counts as open."""


@dataclass(frozen=True)
class Region:
    """The likelihood region of a fit, in whitened coordinates q: parameters = map(centre + root·q).

    Attributes
    ----------
    centre
        (free,) internal coordinates of the optimum.
    root
        (free, seen) columns of one standard error each.
    threshold
        t quantile: the radius of the region where the objective is quadratic.
    unit
        Increase of the objective that is one squared standard error.
    cost
        Objective at the optimum.
    exact
        Whether the residuals are rounding; ends are then not searched for.
    """

    bound: BoundForm
    centre: Array
    root: Array
    threshold: float
    unit: float
    cost: float
    exact: bool

    def params(self, q: Array) -> Array:
        """Internal parameters (laws, params) of coordinates (laws, seen)."""
        return self.bound.problem.map.expand(self.centre + q @ self.root.T)

    def points(self, q: Array) -> Array:
        """Points (laws, params) of coordinates (laws, seen)."""
        return self.bound.to_point(self.params(q))

    def excess(self, q: Array) -> tuple[float, Array]:
        """(S − S_min)/(s² t²) − 1 at q (seen,), and its derivatives by q."""
        problem = self.bound.problem
        with np.errstate(over="ignore", invalid="ignore"):
            residual, jacobian = problem.residuals(self.params(q[None]))
            rho, psi, _ = problem.loss(residual[0])
            scale = self.unit * self.threshold**2
            value = (float(problem.weights @ rho) - self.cost) / scale - 1.0
            pull = self.root.T @ (problem.map.matrix.T @ (jacobian[0] @ (problem.weights * psi)))
        return (value, 2.0 * pull / scale) if np.isfinite(value) else (1e6, np.zeros(len(q)))


def region_of(fit: Fit, level: float | None = None) -> Region:
    """The likelihood region of ``fit`` at a level, ``None`` for the level of the fit."""
    bound, params = rebind(fit)
    problem = bound.problem
    cost = float(problem.cost(params[None])[0])
    pick = problem.map.pick
    at = params[pick]
    slack = 1e-12
    pinned = (at <= problem.lower[pick] + slack) | (at >= problem.upper[pick] - slack)
    spare = max(problem.n_runs - int((~pinned).sum()), 1)
    mean_weight = float(problem.weights.mean())
    variance = cost / mean_weight / spare
    # A parameter at a bound may leave it again: it takes part in the region, on one side.
    seen = spectrum(bound, params, np.zeros(len(pick), bool), variance)
    values, vectors = np.linalg.eigh(seen.covariance[np.ix_(pick, pick)])
    keep = values > 1e-14 * values.max() if values.max() > 0 else values > 0
    return Region(
        bound=bound,
        centre=at,
        root=vectors[:, keep] * np.sqrt(values[keep]),
        threshold=float(special.stdtrit(spare, 0.5 + (level or fit.level) / 2.0)),
        unit=variance * mean_weight,
        cost=cost,
        exact=bool(np.sqrt(cost / problem.weights.sum()) < EXACT),
    )


def profile_range(region: Region, quantity: Quantity) -> tuple[float, float]:
    """Smallest and largest value of ``quantity`` in the region; infinite where open, NaN where not found."""
    size = region.root.shape[1]
    step = 1e-4
    moves = np.concatenate([step * np.eye(size), -step * np.eye(size)])

    def slope(q: Array) -> Array:
        values = quantity(region.points(q + moves))
        gradient: Array = (values[:size] - values[size:]) / (2 * step)
        return np.where(np.isfinite(gradient), gradient, 0.0)

    def value(q: Array) -> float:
        return float(quantity(region.points(q[None]))[0])

    centre = value(np.zeros(size))
    direction = slope(np.zeros(size))
    spread = float(np.linalg.norm(direction))
    if region.exact or not np.isfinite(centre) or spread == 0.0:
        half = region.threshold * spread
        return centre - half, centre + half
    low = _end(region, value, slope, direction / spread, -spread)
    high = _end(region, value, slope, direction / spread, spread)
    return min(low, centre), max(high, centre)


def delta_range(region: Region, quantity: Quantity) -> tuple[float, float]:
    """The first-order interval of the same quantity."""
    from dataclasses import replace

    return profile_range(replace(region, exact=True), quantity)


def _end(
    region: Region,
    value: Callable[[Array], float],
    slope: Callable[[Array], Array],
    direction: Array,
    spread: float,
) -> float:
    """The extreme of a quantity in one direction; ``spread`` is signed: negative for the smallest value."""
    sign, size = np.sign(spread), len(direction)
    problem = region.bound.problem
    pick = problem.map.pick
    lower, upper = problem.lower[pick], problem.upper[pick]
    rows = np.concatenate([region.root, -region.root])
    limits = np.concatenate([region.centre - lower, upper - region.centre])
    bounded = np.isfinite(limits)
    rows, limits = rows[bounded], np.maximum(limits[bounded], 0.0)
    scale = abs(spread)

    def goal(q: Array) -> float:
        result = -sign * value(q) / scale
        return result if np.isfinite(result) else 1e6

    constraints = [
        {"type": "ineq", "fun": lambda q: -region.excess(q)[0], "jac": lambda q: -region.excess(q)[1]},
        {"type": "ineq", "fun": lambda q: rows @ q + limits, "jac": lambda q: rows},
    ]
    best = -np.inf
    for share in (0.9, 0.3):
        solved = optimize.minimize(
            goal,
            sign * share * region.threshold * direction,
            jac=lambda q: -sign * slope(q) / scale,
            bounds=[(-FARTHEST, FARTHEST)] * size,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-9},
        )
        q = solved.x
        if np.abs(q).max() > 0.99 * FARTHEST:
            return float(sign * np.inf)
        inside = region.excess(q)[0] < 1e-4 and (rows @ q + limits > -1e-8 * (1 + np.abs(limits))).all()
        if inside:
            best = max(best, float(-solved.fun) * scale)
        if inside and solved.success:
            break
    return float(sign * best) if np.isfinite(best) else float("nan")
