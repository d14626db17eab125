"""The form of a law: which scales it has terms for, and which parameters are fixed or tied.

``L = Σ c_s · (x_s − offset_s)^-alpha_s + floor`` over scales s. The same mechanism serves the paper's law
(width, depth, tokens), the plain law in (params, tokens), a laboratory's loss against depth and a probe's
angle against depth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from depthlaw.errors import UsageError, unknown_name
from depthlaw.numerics.affine import AffineMap
from depthlaw.numerics.losses import Loss, Squares
from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.terms import Array, FloorTerm, PowerTerm, Term

LARGEST_EXPONENT = 50.0
"""Where the search for an exponent ends: beyond, a term is a step at its smallest scale."""

_TERM = re.compile(r"\(?\s*([A-Za-z_]\w*)\s*(?:-\s*([0-9.]+)\s*)?\)?")


@dataclass(frozen=True)
class Form:
    """Which terms a law has.

    Attributes
    ----------
    scales
        Names of the scales, in order; each contributes ``c_<scale>`` and ``alpha_<scale>``.
    floor
        Whether there is an irreducible loss ``floor`` ≥ 0.
    offsets
        Subtracted from a scale before the power (``{"depth": 2}`` counts depth as ℓ − 2).
    fixed
        Parameters held at a value, in natural units.
    tied
        Pairs of exponents held equal; the first follows the second.
    """

    scales: tuple[str, ...]
    floor: bool = True
    offsets: Mapping[str, float] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    tied: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.scales:
            raise UsageError("a law needs at least one term.", 'Write it as "width + depth + tokens".')
        repeated = {s for s in self.scales if self.scales.count(s) > 1}
        if repeated:
            raise UsageError(f"the form has {sorted(repeated)[0]} twice.")
        for name in [*self.fixed, *(n for pair in self.tied for n in pair)]:
            if name not in self.param_names:
                raise unknown_name("parameter", name, self.param_names)
        for name in [n for pair in self.tied for n in pair]:
            if not name.startswith("alpha_"):
                raise UsageError(f"only exponents can be tied, not {name}.")
        if not self.floor and self.fixed.get("floor"):
            raise UsageError(
                "the floor is switched off and fixed as well.", "Drop --no-floor, or --fix floor."
            )
        # A tie has a follower; one that is fixed leads instead.
        ordered = tuple((b, a) if a in self.fixed and b not in self.fixed else (a, b) for a, b in self.tied)
        object.__setattr__(self, "tied", ordered)
        for name, offset in self.offsets.items():
            if name not in self.scales:
                raise unknown_name("scale", name, self.scales)
            if not np.isfinite(offset):
                raise UsageError(f"{name} offset {offset:g} is not a finite number.")
        for name, value in self.fixed.items():
            low = np.nextafter(0.0, 1.0) if name.startswith("c_") else 0.0
            if not (low <= value < np.inf) or (name.startswith("alpha_") and value > LARGEST_EXPONENT):
                raise UsageError(f"{name} cannot be fixed at {value:g}.")

    @classmethod
    def parse(cls, text: str, **options: object) -> Form:
        """Read ``"width + (depth - 2) + tokens"``; ``options`` are further fields of `Form`.

        Raises
        ------
        UsageError
            If a part is not a scale name with an optional offset.
        """
        scales: list[str] = []
        offsets: dict[str, float] = {}
        for part in text.split("+"):
            match = _TERM.fullmatch(part.strip())
            if match is None:
                raise UsageError(
                    f'form "{text}": cannot read the term "{part.strip()}".',
                    'A form is scales joined by +, as in "width + (depth - 2) + tokens".',
                )
            scales.append(match[1])
            if match[2] is not None:
                offsets[match[1]] = float(match[2])
        form = cls(tuple(scales), offsets=offsets)
        return replace(form, **options) if options else form  # type: ignore[arg-type]

    def with_offsets(self, offsets: Mapping[str, float]) -> Form:
        """The same form with further offsets."""
        return replace(self, offsets={**self.offsets, **{k: v for k, v in offsets.items() if v}})

    @property
    def param_names(self) -> tuple[str, ...]:
        """``c_<scale>``, ``alpha_<scale>`` for every scale, then ``floor``."""
        names = [f"{kind}_{scale}" for scale in self.scales for kind in ("c", "alpha")]
        return (*names, "floor")

    def base(self, scale: str) -> str:
        """What a term takes the power of: ``depth``, ``(depth - 2)`` or ``(depth + 1)``."""
        offset = self.offsets.get(scale)
        return f"({scale} {'-' if offset > 0 else '+'} {abs(offset):g})" if offset else scale

    def __str__(self) -> str:
        return " + ".join([self.base(s) for s in self.scales] + (["floor"] if self.floor else []))


@dataclass(frozen=True)
class BoundForm:
    """A form bound to data: the problem in internal units and the way to the *point* people see.

    A point is [ln c₁, α₁, ln c₂, α₂, …, floor] in natural units (coefficients as logs: c itself can
    overflow). It is linear in the internal parameters [a₁, α₁, …, floor/scale]:
    ln c = a + α·centre + ln scale.

    Attributes
    ----------
    transform, shift
        point = transform @ internal + shift; (params, params) and (params,).
    """

    form: Form
    problem: LogProblem
    log_scales: tuple[Array, ...]
    transform: Array
    shift: Array

    def to_point(self, params: Array) -> Array:
        """Points (…, params) of internal parameters."""
        point: Array = params @ self.transform.T + self.shift
        return point

    def to_point_covariance(self, covariance: Array) -> Array:
        """Covariance (params, params) of a point from that of the internal parameters."""
        point: Array = self.transform @ covariance @ self.transform.T
        held = [self.form.param_names.index(name) for name in self.form.fixed]
        point[held] = point[:, held] = 0.0  # for a fixed coefficient it would be rounding, of either sign
        return point

    def to_internal(self, point: Array) -> Array:
        """Internal parameters (params,) of a point."""
        return np.linalg.solve(self.transform, point - self.shift).astype(np.float64)

    def functional(self, name: str) -> tuple[Array, float]:
        """Row of ``transform`` and entry of ``shift`` of a parameter: it is row @ internal + entry."""
        index = self.form.param_names.index(name)
        return self.transform[index], float(self.shift[index])


def scale_of(name: str) -> str:
    """The scale that a parameter belongs to; "floor" for the floor."""
    return name.partition("_")[2] or name


def to_coordinate(name: str, value: float) -> float:
    """The entry of a point for a natural value: ln c for coefficients, the value itself for the rest."""
    return float(np.log(value)) if name.startswith("c_") else value


def to_value(name: str, coordinate: float) -> float:
    """Inverse of `to_coordinate`; infinite where a coefficient overflows."""
    with np.errstate(over="ignore"):
        return float(np.exp(coordinate)) if name.startswith("c_") else coordinate


def shifted_log(scale: str, values: Array, offset: float) -> Array:
    """ln(x − offset) of values (points,), refusing those that the offset makes zero or negative.

    Raises
    ------
    UsageError
        If a value is not positive, or not above the offset.
    """
    shifted = values - offset
    bad = values[~(shifted > 0)]
    if not len(bad):
        return np.log(shifted)
    if offset == 0 or not bad.min() > 0:
        raise UsageError(f"{scale} must be positive, not {bad.min():g}.")
    raise UsageError(
        f"{scale} offset {offset:g} is not below the smallest {scale}, {bad.min():g}.",
        f"Use an offset smaller than {bad.min():g}, or exclude those runs.",
    )


def bind(
    form: Form,
    scales: Mapping[str, Array],
    losses: Array,
    weights: Array | None = None,
    loss: Loss | None = None,
) -> BoundForm:
    """Set up the problem of fitting ``form``.

    Parameters
    ----------
    scales
        (runs,) positive values for each scale of the form.
    losses
        (runs,) positive losses.
    weights
        (runs,) relative weights, ``None`` for equal ones; only their ratios matter.
    loss
        Objective on log residuals, least squares by default.

    Raises
    ------
    UsageError
        If constraints contradict each other or an offset does not fit the data.
    """
    logs = [shifted_log(s, scales[s], form.offsets.get(s, 0.0)) for s in form.scales]
    centres = np.array([float(u.mean()) for u in logs])
    centred = tuple(u - c for u, c in zip(logs, centres, strict=True))
    if form.fixed.get("floor", 0.0) >= losses.min():
        raise UsageError(
            f"floor cannot be fixed at {form.fixed['floor']:g}: the smallest loss is {losses.min():g}.",
            "A floor lies below the losses.",
        )
    log_loss = np.log(losses)
    loss_centre = float(log_loss.mean())
    size = 2 * len(logs) + 1
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    lower[1:-1:2], upper[1:-1:2] = 0.0, LARGEST_EXPONENT
    # Noise may put the lowest losses below the floor, so it is not bounded by the smallest one.
    lower[-1], upper[-1] = 0.0, float(np.exp(log_loss.max() - loss_centre))
    step_limit = np.tile([2.0, 1.0], len(logs) + 1)[:size]
    step_limit[-1] = 0.5
    transform, shift = np.eye(size), np.zeros(size)
    for k, centre in enumerate(centres):
        transform[2 * k, 2 * k + 1] = centre
        shift[2 * k] = loss_centre
    transform[-1, -1] = np.exp(loss_centre)
    terms: Sequence[Term] = [*(PowerTerm(u) for u in centred), FloorTerm()]
    problem = LogProblem(
        terms=terms,
        log_loss=log_loss - loss_centre,
        weights=np.ones(len(losses)) if weights is None else np.asarray(weights, float),
        map=AffineMap.identity(size),
        lower=lower,
        upper=upper,
        step_limit=step_limit,
        loss=loss or Squares(),
    )
    bound = BoundForm(form, problem, centred, transform, shift)
    return replace(bound, problem=replace(problem, map=_constraints(bound)))


def _constraints(bound: BoundForm) -> AffineMap:
    """The affine map of a form's fixed and tied parameters."""
    form, names = bound.form, bound.form.param_names
    fixed = {**form.fixed} if form.floor else {**form.fixed, "floor": 0.0}
    constraints = []
    for name, value in fixed.items():
        row, shift = bound.functional(name)
        constraints.append((name, row, to_coordinate(name, value) - shift))
    for left, right in form.tied:
        constraints.append((left, bound.functional(left)[0] - bound.functional(right)[0], 0.0))
    # Exponents first: a fixed coefficient then only moves its own amplitude.
    constraints.sort(key=lambda constraint: constraint[0].startswith("c_"))
    result = AffineMap.identity(len(names))
    for name, row, value in constraints:
        try:
            result = result.eliminate(row, value, names.index(name))
        except ValueError:
            raise UsageError(
                f"{name} is constrained twice.", "Drop one of the fixed or tied settings."
            ) from None
    return result
