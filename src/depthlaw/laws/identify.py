"""Can this table determine this law at all? Checks before and after the fit, each with its reason in words
and the runs that would mend it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depthlaw.laws.form import BoundForm, Form, scale_of
from depthlaw.numerics.terms import Array

COLLINEAR = 1e-6
"""1 − |correlation| of two log scales below which they are one dial."""
RANK_TOLERANCE = 1e-7
"""Singular values below this share of the largest are directions the data do not see."""
PARTICIPATION = 1e-3
"""Share of an unseen direction above which a parameter takes part in it."""


@dataclass(frozen=True)
class Gap:
    """A reason why parameters are not identified.

    Attributes
    ----------
    scales
        The scales concerned, and "floor" where it makes up for what the scale leaves open.
    reason
        One sentence.
    remedy
        Which runs would identify them.
    """

    scales: tuple[str, ...]
    reason: str
    remedy: str


def listing(values: Array) -> str:
    """Distinct values for a sentence, the first few of them."""
    distinct = np.unique(values)
    shown = [f"{v:.6g}" for v in distinct[:6]]
    return ", ".join(shown) + (", …" if len(distinct) > 6 else "")


def suggest(scale: str, scales: Mapping[str, Array]) -> str:
    """Which runs to add so that the exponent of ``scale`` (or the floor) becomes known."""
    if scale not in scales:
        return "add larger runs, closer to the floor"
    values = np.unique(scales[scale])
    targets = np.array([values[0] / 2, np.sqrt(values[0] * values[-1]), values[-1] * 2])
    if scale != "tokens":
        targets = np.unique(np.maximum(np.round(targets), 1))
    wanted = [t for t in targets if np.abs(np.log(values / t)).min() > 0.25] or [targets[-1]]
    others = [s for s in scales if s != scale and s in ("width", "depth", "params")]
    held = ""
    if others:
        other = others[0]
        held = f" at {other} {np.sort(scales[other])[len(scales[other]) // 2]:.6g}"
    return f"train runs{held} with {scale} {', '.join(f'{t:.4g}' for t in wanted)}, all else equal"


def gaps_before(form: Form, scales: Mapping[str, Array]) -> tuple[Gap, ...]:
    """Gaps that show in the scales alone: single values, two values under a floor, two scales on one dial."""
    gaps = []
    fixed = set(form.fixed) | {name for pair in form.tied for name in pair}
    for scale in form.scales:
        distinct = len(np.unique(scales[scale]))
        free = sum(name not in fixed for name in (f"c_{scale}", f"alpha_{scale}"))
        if distinct == 1:
            reason = (
                f"every run has {scale} {listing(scales[scale])}: its term cannot be told from a constant"
            )
            gaps.append(Gap((scale,), reason, suggest(scale, scales)))
        elif distinct == 2 and form.floor and "floor" not in form.fixed and free == 2:
            reason = f"only two values of {scale} ({listing(scales[scale])}): any exponent fits equally well"
            gaps.append(Gap((scale, "floor"), reason, suggest(scale, scales)))
    for i, one in enumerate(form.scales):
        for other in form.scales[i + 1 :]:
            if any(len(np.unique(scales[s])) < 3 for s in (one, other)):
                continue
            if {f"alpha_{one}", f"alpha_{other}"} <= set(form.fixed):
                continue
            correlation = float(np.corrcoef(np.log(scales[one]), np.log(scales[other]))[0, 1])
            if 1.0 - abs(correlation) < COLLINEAR:
                reason = (
                    f"{one} and {other} move together in every run (correlation of their logs "
                    f"{correlation:.2f}): only their joint effect is determined, not how it is shared"
                )
                middle = np.sort(scales[one])[len(scales[one]) // 2]
                remedy = f"train runs that vary {other} while {one} stays at {middle:.6g}"
                gaps.append(Gap((one, other), reason, remedy))
    return tuple(gaps)


@dataclass(frozen=True)
class Spectrum:
    """Singular value analysis of the Jacobian at the optimum, in free centred coordinates with unit columns.

    Attributes
    ----------
    condition
        Largest over smallest singular value, infinite when a direction is exactly unseen.
    covariance
        (params, params) s²(JᵀJ)⁻¹ in internal parameters, on the directions that the data see.
    unseen
        Names of parameters that take part in a direction the data do not see.
    """

    condition: float
    covariance: Array
    unseen: tuple[str, ...]


def spectrum(bound: BoundForm, params: Array, pinned: NDArray[np.bool_], variance: float) -> Spectrum:
    """Analyse the problem at ``params``.

    Parameters
    ----------
    params
        (params,) the optimum, internal units.
    pinned
        (free,) True for coordinates held by a bound; they take no part.
    variance
        s² of the log residuals.
    """
    problem = bound.problem
    _, jacobian = problem.residuals(params[None])
    weighted = jacobian[0] * np.sqrt(problem.weights / problem.weights.mean())
    free = problem.map.matrix[:, ~pinned]
    columns = free.T @ weighted
    norm = _norms(columns)
    _, singular, directions = np.linalg.svd((columns / norm[:, None]).T, full_matrices=False)
    seen = singular > RANK_TOLERANCE * singular.max()
    with np.errstate(divide="ignore"):
        condition = float(singular.max() / singular.min())
    root = (directions[seen] / singular[seen, None]) / norm  # (seen, free)
    covariance = variance * free @ (root.T @ root) @ free.T
    return Spectrum(condition, covariance, _unseen(bound, weighted))


def _norms(columns: Array) -> Array:
    norm = np.linalg.norm(columns, axis=1)
    return np.where(norm > 0, norm, 1.0)


def _unseen(bound: BoundForm, weighted: Array) -> tuple[str, ...]:
    """Parameters that can change together without changing the fit.

    Coordinates at a bound are included: a floor at zero that could rise while a term makes up for it leaves
    that term as undetermined as a floor in the open.
    """
    names, free = bound.form.param_names, bound.problem.map.matrix
    columns = free.T @ weighted
    _, singular, directions = np.linalg.svd((columns / _norms(columns)[:, None]).T, full_matrices=False)
    unseen: set[str] = set()
    for direction in directions[singular <= RANK_TOLERANCE * singular.max()]:
        effect = np.abs(free @ direction)  # in unit-column coordinates: comparable between parameters
        unseen |= {name for name, share in zip(names, effect, strict=True) if share > PARTICIPATION}
    # A coefficient is what its exponent makes it.
    unseen |= {n for n in names if n.startswith("c_") and f"alpha_{scale_of(n)}" in unseen}
    return tuple(n for n in names if n in unseen)
