"""Levenberg–Marquardt for a batch of small problems at once, with a status for each.

Many starts, many resamples and many profile points are the same small problem over and over. Solving them
side by side replaces thousands of Python-level solver calls by a few dozen array operations; problems that
have finished leave the batch.

Scaling laws have long curved valleys, where a floor and exponents trade off against each other. Far from a
minimum the step is Gauss–Newton with damping, bent along the valley by its second-order correction (geodesic
acceleration; it halves the iterations). Near a minimum the exact Hessian is used: the second derivatives that
Gauss–Newton neglects are as large as the smallest curvature, and without them it creeps or oscillates.

Convergence is judged by the cosine between the residuals and each column of the Jacobian, a number without
units: multiplying the objective by any constant changes nothing.

Damping follows Nielsen (1999), *Damping parameter in Marquardt's method*; the cosine test Moré (1978), *The
Levenberg–Marquardt algorithm: implementation and theory*; the acceleration Transtrum and Sethna (2012),
*Improvements to the Levenberg–Marquardt algorithm for nonlinear least-squares minimization*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from depthlaw.numerics.affine import Index, MapBatch
from depthlaw.numerics.losses import Loss
from depthlaw.numerics.terms import Array

GRADIENT_TOLERANCE = 1e-9
ROUNDING = 64 * np.finfo(np.float64).eps
"""Error of one computed log residual: a few roundings of exp, the sum of terms and log."""
NEWTON_COSINE = 1e-3
"""Below this gradient cosine a problem is near a minimum and the exact Hessian is tried first."""
LEAST_DAMPING = 1e-12
"""Keeps exactly collinear columns solvable; without effect on directions that the data determine."""
LARGEST_BEND = 0.75
"""Geodesic acceleration is used up to this share of the step: beyond, the expansion is no good."""


class Status(IntEnum):
    """How one problem of a batch ended."""

    RUNNING = 0
    CONVERGED = 1
    STALLED = 2
    MAX_ITERATIONS = 3
    NOT_FINITE = 4


class Model(Protocol):
    """What the solver needs to know: residuals with their first and second derivatives."""

    @property
    def loss(self) -> Loss:
        """How residuals count."""
        ...

    def residuals(self, params: Array) -> tuple[Array, Array]:
        """Residuals (batch, runs) and derivatives (batch, params, runs) at params (batch, params)."""
        ...

    def second_order(self, jacobian: Array, factor: Array) -> Array:
        """Σ_runs factor · ∂²residual, (batch, params, params), at the point ``jacobian`` belongs to.

        Parameters
        ----------
        jacobian
            (batch, params, runs) as returned by `residuals`.
        factor
            (batch, runs).
        """
        ...

    def along(self, jacobian: Array, step: Array) -> Array:
        """Second derivative of the residuals (batch, runs) along ``step`` (batch, params)."""
        ...


@dataclass(frozen=True)
class Solutions:
    """What became of a batch of problems.

    Attributes
    ----------
    params
        (batch, params) at the end.
    cost
        (batch,) sum of weighted losses, for squares the residual sum of squares.
    gradient
        (batch,) largest cosine between residuals and a column of the Jacobian, bounds respected.
    iterations
        (batch,) evaluations used.
    status
        (batch,) `Status` values.
    """

    params: Array
    cost: Array
    gradient: Array
    iterations: NDArray[np.int64]
    status: NDArray[np.int64]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """(batch,) whether the gradient test was met."""
        converged: NDArray[np.bool_] = self.status == Status.CONVERGED
        return converged


@dataclass
class _Point:
    """Objective and derivatives at z, in free coordinates; the first axis is the running problems."""

    z: Array
    jacobian: Array  # by the parameters, not the coordinates
    cost: Array
    influence: Array  # Σ w psi²: what the gradient is measured against
    gradient: Array
    gauss_newton: Array
    hessian: Array
    squares: Array  # squared norms of the Jacobian's weighted columns

    def take(self, which: NDArray[np.bool_]) -> _Point:
        return _Point(**{name: value[which] for name, value in vars(self).items()})

    def replace(self, which: NDArray[np.bool_], by: _Point) -> None:
        for name, value in vars(self).items():
            value[which] = getattr(by, name)[which]


@dataclass(frozen=True)
class _Problem:
    """What stays the same over the iterations, for the whole batch."""

    model: Model
    maps: MapBatch
    weights: Array
    lower: Array
    upper: Array
    step_limit: Array

    def weights_of(self, index: Index) -> Array:
        """Weights, broadcastable to (len(index), runs)."""
        return self.weights if self.weights.ndim == 1 else self.weights[index]

    def at(self, z: Array, index: Index) -> _Point:
        """Evaluate the problems ``index`` at coordinates z."""
        maps = self.maps.take(index)
        weights = self.weights_of(index)
        residual, jacobian = self.model.residuals(maps.expand(z))
        rho, psi, curvature = self.model.loss(residual)
        factor = weights * psi
        transposed = jacobian.transpose(0, 2, 1)
        weighted = jacobian * weights[..., None, :]
        full = np.matmul(weighted, transposed)
        bent = full if curvature is None else np.matmul(weighted * curvature[:, None, :], transposed)
        gauss_newton = maps.pull_back_form(bent)
        return _Point(
            z=z,
            jacobian=jacobian,
            cost=np.sum(weights * rho, -1),
            influence=np.sum(factor * psi, -1),
            gradient=maps.pull_back(np.matmul(jacobian, factor[:, :, None])[:, :, 0]),
            gauss_newton=gauss_newton,
            hessian=gauss_newton + maps.pull_back_form(self.model.second_order(jacobian, factor)),
            squares=np.diagonal(maps.pull_back_form(full), axis1=1, axis2=2).copy(),
        )


def levmar(
    model: Model,
    start: Array,
    *,
    maps: MapBatch,
    weights: Array,
    lower: Array,
    upper: Array,
    step_limit: Array,
    gradient_tolerance: float = GRADIENT_TOLERANCE,
    max_iterations: int = 200,
    block: int = 64,
) -> Solutions:
    """Minimise Σ weights · loss(residual) for each problem of a batch, within bounds.

    Parameters
    ----------
    start
        (batch, params).
    maps
        Linear constraints on the parameters, one for all or one per problem.
    weights
        (runs,) or (batch, runs), not negative.
    lower, upper
        (params,) bounds; infinite for none.
    step_limit
        (params,) largest change in one step: keeps exponentials finite far from a solution.
    block
        Problems handled together: enough to amortise Python, few enough to stay in cache.
    """
    batch = len(start)

    def restrict(bound: Array) -> Array:
        return maps.restrict(np.broadcast_to(bound, start.shape))

    problem = _Problem(model, maps, weights, restrict(lower), restrict(upper), restrict(step_limit))
    out = Solutions(
        params=np.array(start, float),
        cost=np.full(batch, np.nan),
        gradient=np.full(batch, np.nan),
        iterations=np.zeros(batch, np.int64),
        status=np.full(batch, Status.RUNNING, np.int64),
    )
    z = maps.restrict(start)
    # What is not finite becomes a status, not a warning.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for first in range(0, batch, block):
            index = np.arange(first, min(first + block, batch))
            _solve_block(problem, out, index, z[index], gradient_tolerance, max_iterations)
    return out


def _cosine(point: _Point, pinned: NDArray[np.bool_]) -> Array:
    """Largest |cos| between residuals and a Jacobian column that is free to move; 0 for zero residuals."""
    norm = np.sqrt(point.squares * point.influence[:, None])
    cosine = np.divide(np.abs(point.gradient), norm, out=np.zeros_like(norm), where=norm > 0)
    worst: Array = np.where(pinned, 0.0, cosine).max(-1, initial=0.0)
    return worst


def _damped(
    point: _Point, hessian: Array, damping: Array, pinned: NDArray[np.bool_]
) -> Callable[[Array], Array]:
    """Return the function that solves the damped system for a right-hand side (batch, free).

    It works in coordinates scaled to unit Jacobian columns; coordinates held by a bound take no part.
    """
    inverse = np.where(pinned, 0.0, 1.0 / np.sqrt(np.maximum(point.squares, 1e-300)))
    scaled = hessian * inverse[:, :, None] * inverse[:, None, :]
    system = scaled + np.eye(scaled.shape[1]) * (damping[:, None] + pinned)[:, :, None]

    def solve(right: Array) -> Array:
        solved = np.linalg.solve(system, (right * inverse)[:, :, None])[:, :, 0]
        return solved.astype(np.float64, copy=False) * inverse

    return solve


def _bounded(z: Array, step: Array, low: Array, high: Array, limit: Array) -> Array:
    """Shorten steps to their limits, then cut them at the bounds."""
    longest = np.max(np.abs(step) / limit, -1, initial=0.0)
    bounded: Array = np.clip(z + step / np.maximum(longest, 1.0)[:, None], low, high) - z
    return bounded


def _promise(point: _Point, hessian: Array, step: Array) -> Array:
    """Decrease of the cost that the quadratic model predicts for a step."""
    bend = np.matmul(hessian, step[:, :, None])[:, :, 0]
    decrease: Array = -np.sum(step * (2.0 * point.gradient + bend), -1)
    return decrease


def _propose(
    problem: _Problem,
    index: Index,
    point: _Point,
    damping: Array,
    pinned: NDArray[np.bool_],
    newton: NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Trial coordinates (batch, free) and the decrease of the cost that each promises."""
    low, high, limit = problem.lower[index], problem.upper[index], problem.step_limit[index]
    step: Array = np.zeros_like(point.z)
    promised: Array = np.zeros(len(index), np.float64)
    if newton.any():
        solve = _damped(point, point.hessian, damping, pinned)
        step = _bounded(point.z, -solve(point.gradient), low, high, limit)
        promised = _promise(point, point.hessian, step)
    crude = ~newton | ~(promised > 0)
    if crude.any():
        solve = _damped(point, point.gauss_newton, damping, pinned)
        first = _bounded(point.z, -solve(point.gradient), low, high, limit)
        promised = np.where(crude, _promise(point, point.gauss_newton, first), promised)
        bend = _geodesic_bend(problem, index, point, first, solve)
        length, bend_length = (np.sum(point.squares * v * v, -1) for v in (first, bend))
        small = 4.0 * bend_length <= LARGEST_BEND**2 * length
        bent = np.where(small[:, None], first + 0.5 * bend, first)
        step = np.where(crude[:, None], _bounded(point.z, bent, low, high, limit), step)
    return point.z + step, promised


def _geodesic_bend(
    problem: _Problem, index: Index, point: _Point, step: Array, solve: Callable[[Array], Array]
) -> Array:
    """Second-order correction of a step: what cancels the residuals' second derivative along it."""
    maps = problem.maps.take(index)
    along = problem.model.along(point.jacobian, np.matmul(maps.matrix, step[:, :, None])[:, :, 0])
    weighted = problem.weights_of(index) * along
    return -solve(maps.pull_back(np.matmul(point.jacobian, weighted[:, :, None])[:, :, 0]))


def _solve_block(
    problem: _Problem, out: Solutions, index: Index, z: Array, gradient_tolerance: float, max_iterations: int
) -> None:
    """Run the problems ``index`` to their end and write them into ``out``."""
    total_weight = np.broadcast_to(np.sum(problem.weights, -1), (len(out.cost),))
    point = problem.at(np.clip(z, problem.lower[index], problem.upper[index]), index)
    damping = np.full(len(index), 1e-3)
    growth = np.full(len(index), 2.0)

    for iteration in range(max_iterations + 1):
        low, high = problem.lower[index], problem.upper[index]
        pinned = ((point.z <= low) & (point.gradient > 0)) | ((point.z >= high) & (point.gradient < 0))
        cosine = _cosine(point, pinned)
        # Residuals below rounding have no direction: the tolerance grows as they approach it.
        rms = np.sqrt(point.influence / total_weight[index])
        tolerance = np.maximum(gradient_tolerance, ROUNDING / np.maximum(rms, 1e-300))
        status = np.full(len(index), Status.MAX_ITERATIONS if iteration == max_iterations else Status.RUNNING)
        status[damping > 1e12] = Status.STALLED
        status[cosine <= tolerance] = Status.CONVERGED
        status[~np.isfinite(point.cost)] = Status.NOT_FINITE
        finished = status != Status.RUNNING
        if finished.any():
            done = index[finished]
            out.params[done] = problem.maps.take(done).expand(point.z[finished])
            out.cost[done] = point.cost[finished]
            out.gradient[done] = cosine[finished]
            out.iterations[done] = iteration
            out.status[done] = status[finished]
            if finished.all():
                return
            on = ~finished
            point, index, damping, growth = point.take(on), index[on], damping[on], growth[on]
            pinned, cosine = pinned[on], cosine[on]

        # A rejected step sends a problem back to Gauss–Newton until one is accepted.
        newton = (cosine <= NEWTON_COSINE) & (growth <= 2.0)
        trial, promised = _propose(problem, index, point, damping, pinned, newton)
        new = problem.at(trial, index)
        gain = (point.cost - new.cost) / promised
        better = (new.cost < point.cost) & (gain > 1e-4)
        # Closer to the minimum than the cost can resolve, only the step itself can be trusted.
        blind = (np.abs(promised) <= 1e-11 * point.cost) & (new.cost <= point.cost * (1 + 1e-11))
        accept = (better | blind) & np.isfinite(new.cost)
        if accept.all():
            point = new
        else:
            point.replace(accept, new)
        shrink = np.maximum(1.0 / 3.0, 1.0 - (2.0 * np.where(better, gain, 1.0) - 1.0) ** 3)
        damping = np.where(accept, np.maximum(damping * shrink, LEAST_DAMPING), damping * growth)
        growth = np.where(accept, 2.0, growth * 2.0)
