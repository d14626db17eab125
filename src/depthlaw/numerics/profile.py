"""Profile likelihood intervals: how far can a quantity go before the best fit of all the rest gets worse by
more than chance allows.

For a quantity v = functional·p the profile is ζ(v) = ±√((S(v) − S_min)/s²), with S(v) the minimum of the
objective under the constraint; the interval is |ζ| ≤ t (Bates and Watts 1988, *Nonlinear Regression Analysis
and Its Applications*, §6.1). All ends of all quantities are searched side by side as one batch of
constrained fits per round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from depthlaw.numerics.affine import AffineMap, MapBatch
from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.terms import Array

ZETA_TOLERANCE = 1e-5
"""Ends are found to this share of a standard error."""
IMPROVEMENT = 1e-8
"""A constrained fit better than the optimum by this relative amount is a better optimum, not rounding."""
JUMP = 1e-6
"""Share of the distance to an end below which a profile that crosses the threshold there jumps across it."""
MAX_ROUNDS = 60
PATIENCE = 6
"""Points of a ray after which its steps at least double: a profile that stays flat is left quickly."""
MAX_CHECKS = 4
"""Times that all rays are confronted with what the others have found."""


@dataclass(frozen=True)
class Quantity:
    """A linear functional of the parameters to profile.

    Attributes
    ----------
    functional
        (params,) the quantity is ``functional · p``.
    pivot
        Parameter eliminated by the constraint; must be a free coordinate.
    scale
        Rough standard error, the first step of the search.
    lower, upper
        Where the search stops: a physical bound, or so far out that the end counts as open.
    """

    functional: Array
    pivot: int
    scale: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Trace:
    """The profile of one quantity: value and ζ at every point that was fitted, sorted by value."""

    value: Array
    zeta: Array


@dataclass(frozen=True)
class Profiles:
    """Profile intervals of several quantities.

    Attributes
    ----------
    lower, upper
        (quantities,) ends; infinite where the profile never reaches the threshold before the search limit.
    traces
        One per quantity.
    better
        (params,) a point with a lower objective that the search came across; the other fields are then
        incomplete and the fit must be restarted from it. ``None`` when there is none.
    """

    lower: Array
    upper: Array
    traces: tuple[Trace, ...]
    better: Array | None = None


@dataclass
class _Ray:
    """The search from the optimum in one direction along one quantity; offsets are distances from it."""

    quantity: Quantity
    centre: float
    sign: float
    threshold: float
    start: Array
    offsets: list[float] = field(default_factory=lambda: [0.0])
    zetas: list[float] = field(default_factory=lambda: [0.0])
    points: list[Array] = field(default_factory=list)
    end: float | None = None  # distance of the end; infinite when open; None while searching

    def __post_init__(self) -> None:
        self.points.append(self.start)
        if self.limit <= 0.0:
            self.end = np.inf

    @property
    def limit(self) -> float:
        q = self.quantity
        return self.centre - q.lower if self.sign < 0 else q.upper - self.centre

    def value(self, offset: float) -> float:
        return self.centre + self.sign * offset

    def bracket(self) -> tuple[float, list[float]]:
        """The farthest distance still inside the threshold, and all farther ones beyond it."""
        tried = list(zip(self.offsets, self.zetas, strict=True))
        inside = max(t for t, z in tried if z < self.threshold)
        return inside, [t for t, z in tried if z >= self.threshold and t > inside]

    def next_offset(self) -> float:
        """Where to look next: outwards until the threshold is bracketed, then a guarded secant."""
        inside, beyond = self.bracket()
        zeta = self.zetas[self.offsets.index(inside)]
        if not beyond:
            if inside == 0.0:
                step = self.threshold * self.quantity.scale
            else:
                factor = min(max(self.threshold / max(zeta, 1e-9), 1.3), 4.0)
                step = inside * max(factor, 2.0 if len(self.offsets) > PATIENCE else 1.0)
            return min(step, self.limit)
        outside = min(beyond)
        zeta_out = self.zetas[self.offsets.index(outside)]
        share = (self.threshold - zeta) / (zeta_out - zeta)
        if len(self.offsets) % 4 == 0:  # a profile with a kink defeats the secant; halving does not
            share = 0.5
        return inside + float(np.clip(share, 0.02, 0.98)) * (outside - inside)

    def outcome(self) -> float:
        """Distance of the end; when the search was cut short, the nearest point known to lie beyond it."""
        if self.end is not None:
            return self.end
        return min(self.bracket()[1], default=np.inf)

    def nearest(self, offset: float) -> Array:
        """The fitted point closest to ``offset``, the warm start."""
        at = int(np.argmin(np.abs(np.array(self.offsets) - offset)))
        return self.points[at]

    def record(self, offset: float, zeta: float, point: Array) -> None:
        self.offsets.append(offset)
        self.zetas.append(zeta)
        self.points.append(point)
        self.end = None
        inside, beyond = self.bracket()
        if abs(zeta - self.threshold) <= ZETA_TOLERANCE * self.threshold:
            self.end = offset
        elif beyond and min(beyond) - inside <= JUMP * min(beyond):
            self.end = min(beyond)  # the profile jumps across the threshold here
        elif not beyond and offset >= self.limit:
            self.end = np.inf


def profile(
    problem: LogProblem,
    optimum: Array,
    cost: float,
    quantities: Sequence[Quantity],
    *,
    threshold: float,
    unit: float,
    elsewhere: Array | None = None,
) -> Profiles:
    """Profile intervals of ``quantities`` around an optimum.

    A profile followed from the optimum stays in one valley. So every point that was fitted for one quantity
    and lies inside the threshold is a witness for all others: where it lies outside another's interval, that
    interval's search goes on from there.

    Parameters
    ----------
    optimum
        (params,) the fitted parameters.
    cost
        Objective there, Σ w·loss.
    threshold
        Bound on |ζ|: the t quantile for the level wanted.
    unit
        Increase of the objective that is one ζ²: the residual variance s².
    elsewhere
        (points, params) further points to hold against the intervals: where other starts of the fit ended.
    """
    rays = [
        _Ray(q, float(q.functional @ optimum), sign, threshold, optimum)
        for q in quantities
        for sign in (-1.0, 1.0)
    ]
    strangers = np.empty((0, len(optimum))) if elsewhere is None else elsewhere
    for _ in range(MAX_CHECKS):
        better = _search(problem, optimum, cost, rays, unit)
        if better is not None:
            return Profiles(np.array([]), np.array([]), (), better=better)
        if not _confront(problem, cost, rays, strangers, unit):
            break
    _add_midpoints(problem, optimum, cost, rays, unit)
    lower, upper, traces = [], [], []
    for down, up in zip(rays[::2], rays[1::2], strict=True):
        lower.append(down.value(down.outcome()))
        upper.append(up.value(up.outcome()))
        value = np.array([down.value(t) for t in down.offsets] + [up.value(t) for t in up.offsets[1:]])
        zeta = np.array([-z for z in down.zetas] + up.zetas[1:])
        order = np.argsort(value)
        traces.append(Trace(value[order], zeta[order]))
    return Profiles(np.array(lower), np.array(upper), tuple(traces))


def _search(problem: LogProblem, optimum: Array, cost: float, rays: list[_Ray], unit: float) -> Array | None:
    """Drive all rays to their ends; return a better optimum if one turns up."""
    for _ in range(MAX_ROUNDS):
        open_rays = [ray for ray in rays if ray.end is None]
        if not open_rays:
            break
        offsets = [ray.next_offset() for ray in open_rays]
        points, costs = _constrained_fits(problem, optimum, open_rays, offsets)
        best = int(np.argmin(costs))
        if costs[best] < cost * (1.0 - IMPROVEMENT):
            improved: Array = points[best]
            return improved
        for ray, offset, point, value in zip(open_rays, offsets, points, costs, strict=True):
            ray.record(offset, float(np.sqrt(max(value - cost, 0.0) / unit)), point)
    return None


def _confront(problem: LogProblem, cost: float, rays: list[_Ray], strangers: Array, unit: float) -> bool:
    """Reopen every ray whose interval leaves out a point that fits as well; say whether there was one."""
    found = np.concatenate([np.stack(ray.points) for ray in rays] + [strangers])
    zetas = np.sqrt(np.maximum(problem.cost(found) - cost, 0.0) / unit)
    reopened = False
    for ray in rays:
        inside = zetas < ray.threshold * (1.0 - 1e-6)
        if ray.end is None or not np.isfinite(ray.end) or not inside.any():
            continue
        offsets = ray.sign * (found[inside] @ ray.quantity.functional - ray.centre)
        farthest = int(np.argmax(offsets))
        if offsets[farthest] > ray.end * (1.0 + 1e-3) and offsets[farthest] <= ray.limit:
            ray.record(float(offsets[farthest]), float(zetas[inside][farthest]), found[inside][farthest])
            if ray.end is not None and np.isfinite(ray.end):
                ray.end = None
            reopened = True
    return reopened


def _add_midpoints(problem: LogProblem, optimum: Array, cost: float, rays: list[_Ray], unit: float) -> None:
    """Fit each ray half way to its end too: the ends alone would not show whether the profile is straight."""
    ended = [ray for ray in rays if ray.end is not None and np.isfinite(ray.end)]
    if not ended:
        return
    offsets = [0.5 * float(ray.end or 0.0) for ray in ended]
    points, costs = _constrained_fits(problem, optimum, ended, offsets)
    for ray, offset, point, value in zip(ended, offsets, points, costs, strict=True):
        ray.offsets.append(offset)
        ray.zetas.append(float(np.sqrt(max(value - cost, 0.0) / unit)))
        ray.points.append(point)


def _constrained_fits(
    problem: LogProblem, optimum: Array, rays: list[_Ray], offsets: list[float]
) -> tuple[Array, Array]:
    """Best parameters (rays, params) and objective (rays,) with each ray's quantity held at its offset.

    Each is started twice, from the nearest point of its ray and from the optimum: a profile that follows
    one valley only would miss that another has become the lower one.
    """
    maps: list[AffineMap] = [
        problem.map.eliminate(ray.quantity.functional, ray.value(offset), ray.quantity.pivot)
        for ray, offset in zip(rays, offsets, strict=True)
    ]
    near = np.stack([ray.nearest(offset) for ray, offset in zip(rays, offsets, strict=True)])
    starts = np.concatenate([near, np.broadcast_to(optimum, near.shape)])
    solved = problem.solve(starts, maps=MapBatch.stack(maps + maps), max_iterations=100)
    costs = np.where(np.isfinite(solved.cost), solved.cost, np.inf).reshape(2, len(rays))
    choice = np.argmin(costs, 0)
    rows = np.arange(len(rays))
    points = solved.params.reshape(2, len(rays), -1)
    return points[choice, rows], costs[choice, rows]
