"""From an optimum and its intervals to a status for every parameter, and to what the reader must be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from depthlaw.data.runs import RunTable
from depthlaw.errors import Notice
from depthlaw.laws.direction import rising
from depthlaw.laws.form import BoundForm, Form, scale_of, to_value
from depthlaw.laws.identify import Gap, listing, suggest
from depthlaw.laws.intervals import Interval, in_combination
from depthlaw.laws.optimum import Curvature, Optimum
from depthlaw.laws.result import Estimate, Quality, Status
from depthlaw.numerics.losses import Huber
from depthlaw.numerics.terms import Array


@dataclass(frozen=True)
class Evidence:
    """All that is known when statuses are given."""

    bound: BoundForm
    optimum: Optimum
    near: Curvature
    intervals: Mapping[str, Interval]
    covariance: Array  # of the internal parameters
    gaps: Sequence[Gap]
    scales: Mapping[str, Array]


def estimate(name: str, known: Evidence) -> Estimate:
    """Value, error, interval and status of one parameter of the fitted form."""
    form = known.bound.form
    if name in form.fixed or (name == "floor" and not form.floor):
        return Estimate(name, form.fixed.get(name, 0.0), None, None, Status.FIXED, "held fixed")
    partner = dict(form.tied).get(name)
    if partner is not None:
        leader = estimate(partner, known)
        if leader.status is Status.NOT_IDENTIFIED:
            return replace(leader, name=name)
        return replace(leader, name=name, status=Status.TIED, reason=f"tied to {partner}")
    unknown = _why_unknown(name, known)
    if unknown is not None:
        return Estimate(name, None, None, None, Status.NOT_IDENTIFIED, unknown)

    row, shift = known.bound.functional(name)
    value = to_value(name, float(row @ known.optimum.params) + shift)
    variance = max(float(row @ known.covariance @ row), 0.0)
    stderr = float(np.sqrt(variance)) * (value if name.startswith("c_") else 1.0)
    if known.near.exact:
        reason = "residuals at rounding level: the interval is rounding, not statistics"
        interval = (max(value - 2 * stderr, 0.0), value + 2 * stderr)
        return Estimate(name, value, stderr, interval, Status.OK, reason)
    interval = (known.intervals[name].low, known.intervals[name].high)
    if _at_bound(name, known):
        where = "zero" if value == 0.0 else "the largest value allowed"
        return Estimate(name, value, None, interval, Status.BOUNDARY, f"at {where}: no symmetric error")
    return Estimate(name, value, stderr, interval, Status.OK)


def _why_unknown(name: str, known: Evidence) -> str | None:
    """The reason why a parameter is not identified, with the runs that would identify it; None if it is."""
    scale = scale_of(name)
    for gap in known.gaps:
        if scale in gap.scales:
            return f"{gap.reason}; {gap.remedy}"
    remedy = suggest(scale, known.scales)
    if against := _rising(scale, known):
        return against
    if in_combination(name, known.near):
        partners = ", ".join(n for n in known.near.spectrum.unseen if n != name)
        return f"the table determines it only in combination with {partners}; {remedy}"
    if known.near.exact:
        effect = _effect(name, known)
        return f"the {scale} term has no effect on these losses" if effect < NO_EFFECT else None
    exponent = known.intervals.get(f"alpha_{scale}")
    if name not in known.intervals or (name.startswith("c_") and exponent and exponent.high == np.inf):
        return f"alpha_{scale} has no upper end, so its coefficient has none"
    low, high = known.intervals[name].low, known.intervals[name].high
    if not np.isfinite(high) and name == "floor":
        return f"any floor from {low:.3g} up to the largest loss fits as well; {remedy}"
    if not np.isfinite(high) and name.startswith("c_"):
        return f"any value above {low:.3g} fits as well; {remedy}"
    if not np.isfinite(high):
        values = (
            f"{scale} takes {len(np.unique(known.scales[scale]))} values ({listing(known.scales[scale])})"
        )
        said = f"any exponent above {low:.2f} fits as well" if low > 0 else "any exponent fits as well"
        return f"{values} and {said}; {remedy}"
    return None


def _rising(scale: str, known: Evidence) -> str:
    """Why nothing is known of a scale with which the loss rises, or of a floor beside its term."""
    if scale == "floor":
        beside = [s for s in known.bound.form.scales if f"c_{s}" in known.near.spectrum.unseen]
        found = [words for s in beside if (words := _rising(s, known))]
        return f"{found[0]}; a constant term cannot be told from the floor" if found else ""
    exponent = known.intervals.get(f"alpha_{scale}")
    if exponent is not None and np.isfinite(exponent.high):
        return ""
    return rising(scale, known.scales, known.bound.problem.log_loss)


NO_EFFECT = 1e-8
"""Variation of a term, relative to the losses, below which an exact law does not contain it."""


def _effect(name: str, known: Evidence) -> float:
    """How much the term of a parameter varies over the runs, relative to the losses; one for the floor."""
    if name == "floor":
        return 1.0
    at = 2 * known.bound.form.scales.index(scale_of(name))
    a, alpha = known.optimum.params[at : at + 2]
    term = np.exp(a - alpha * known.bound.log_scales[at // 2])
    return float(np.ptp(term) / np.exp(known.bound.problem.log_loss).mean())


def _at_bound(name: str, known: Evidence) -> bool:
    index = known.bound.form.param_names.index(name)
    coordinate = np.flatnonzero(known.bound.problem.map.pick == index)
    return len(coordinate) > 0 and bool(known.near.pinned[coordinate[0]])


def dropped(scale: str, gap: Gap) -> list[Estimate]:
    """The two parameters of a term that was left out because its scale never changes."""
    reason = f"{gap.reason}; {gap.remedy}"
    return [Estimate(f"{kind}_{scale}", None, None, None, Status.DROPPED, reason) for kind in ("c", "alpha")]


def in_order(form: Form, estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """Estimates in the order of the form that was asked for."""
    by_name = {e.name: e for e in estimates}
    return tuple(by_name[name] for name in form.param_names)


def quality(known: Evidence) -> Quality:
    """How well the law describes the table."""
    problem = known.bound.problem
    weights = problem.weights / problem.weights.sum()
    residual = problem.residuals(known.optimum.params[None])[0][0]
    n_runs, n_free = problem.n_runs, known.near.n_free
    mse = float(weights @ residual**2)
    deviance = n_runs * float(np.log(max(mse, np.finfo(float).tiny)))
    spare = n_runs - n_free - 1
    correction = 2 * n_free * (n_free + 1) / spare if spare > 0 else np.inf
    return Quality(
        mse=mse,
        mean_abs_rel_error=float(weights @ np.abs(np.expm1(residual))),
        aic=deviance + 2 * n_free,
        aicc=deviance + 2 * n_free + correction,
        bic=deviance + n_free * float(np.log(n_runs)),
    )


OUTLYING = 5.0
"""Robust standard deviations from the law beyond which a row is named."""


def outliers(table: RunTable, known: Evidence) -> tuple[Notice, ...]:
    """Name the rows that lie far from the law, by the median absolute deviation of the log residuals."""
    residual = known.bound.problem.residuals(known.optimum.params[None])[0][0]
    centred = np.abs(residual - np.median(residual))
    spread = 1.4826 * float(np.median(centred))
    far = np.flatnonzero(centred > OUTLYING * spread)
    if known.near.exact or len(far) == 0:
        return ()
    far = far[np.argsort(-centred[far])]
    named = ", ".join(f"{table.place(int(i))} ({_side(float(residual[i]))})" for i in far[:6])
    more = f" and {len(far) - 6} more" if len(far) > 6 else ""
    lie, them = ("rows lies", "it") if len(far) == 1 else ("rows lie", "them")
    huber = isinstance(known.bound.problem.loss, Huber)
    advice = "" if huber else f"; depthlaw fit --objective huber weighs {them} less"
    message = (
        f"{len(far)} of {len(residual)} {lie} more than {OUTLYING:g} robust standard deviations "
        f"({100 * spread:.2f} %) from the law: {named}{more}{advice}"
    )
    return (Notice("outliers", message, tuple(int(table.lines[i]) for i in far)),)


def _side(residual: float) -> str:
    """Where a row lies as its reader sees it: the residual is predicted less observed."""
    return f"{abs(100 * np.expm1(-residual)):.1f} % {'above' if residual < 0 else 'below'}"


def notices(known: Evidence, estimates: Sequence[Estimate]) -> tuple[Notice, ...]:
    """One line for every gap, every boundary and every doubt about the optimum."""
    found: list[Notice] = []
    told: set[str] = set()
    for gap in known.gaps:
        found.append(Notice("not-identified", f"{' and '.join(gap.scales)}: {gap.reason}; {gap.remedy}."))
        told |= set(gap.scales)
    # Exponents before coefficients: they carry the reason.
    for one in sorted(estimates, key=lambda e: e.name.startswith("c_")):
        scale = scale_of(one.name)
        if one.status is Status.NOT_IDENTIFIED and scale not in told:
            found.append(Notice("not-identified", f"{one.name}: {one.reason}."))
            told.add(scale)
        elif one.status is Status.BOUNDARY:
            found.append(Notice("boundary", f"{one.name} is {one.reason}."))
        elif one.status is Status.DROPPED and one.name.startswith("alpha_"):
            found.append(Notice("dropped", f"the {scale} term is left out: the floor contains its constant."))
    optimum = known.optimum
    if optimum.agreement < 2 or not optimum.converged:
        message = (
            f"not converged: {optimum.agreement} of {len(optimum.end_costs)} starts reached the best "
            f"objective, scaled gradient {optimum.gradient:.0e}; use more --starts."
        )
        found.append(Notice("not-converged", message))
    return tuple(found)
