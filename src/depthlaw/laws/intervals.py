"""Intervals for the parameters of a law in natural units: profile likelihood, and bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from depthlaw.laws.bootstrap import Bootstrap
from depthlaw.laws.form import LARGEST_EXPONENT, BoundForm, scale_of, to_value
from depthlaw.laws.identify import Gap
from depthlaw.laws.optimum import Curvature, Optimum
from depthlaw.laws.result import ProfileCurve
from depthlaw.numerics.profile import Quantity, profile
from depthlaw.numerics.terms import Array

C_SEARCH = 60.0
"""How far from the optimum the profile of ln c is followed before its end counts as open."""


@dataclass(frozen=True)
class Interval:
    """An interval in natural units; an end is infinite (or 0 for c) where the data set none."""

    low: float
    high: float
    curve: ProfileCurve | None = None


def profile_intervals(
    bound: BoundForm, optimum: Optimum, near: Curvature, gaps: Sequence[Gap], level: float
) -> tuple[dict[str, Interval], Array | None]:
    """Profile every parameter that has a chance, in two rounds: exponents and floor, then coefficients.

    The coefficient of an exponent without an upper end has none either, and following it would be long.

    Returns
    -------
    intervals
        By parameter name.
    better
        (params,) a better optimum if the search came across one; the fit must then be restarted from it.
    """
    if near.exact:
        return {}, None
    blocked = {scale for gap in gaps for scale in gap.scales}
    free = [bound.form.param_names[k] for k in bound.problem.map.pick]
    free = [n for n in free if scale_of(n) not in blocked and not in_combination(n, near)]
    found, better = _profile(bound, optimum, near, [n for n in free if not n.startswith("c_")], level)
    if better is not None:
        return found, better
    endless = {scale_of(n) for n, interval in found.items() if interval.high == np.inf}
    names = [n for n in free if n.startswith("c_") and scale_of(n) not in endless]
    coefficients, better = _profile(bound, optimum, near, names, level)
    return found | coefficients, better


def in_combination(name: str, near: Curvature) -> bool:
    """Whether the data see a parameter only together with others, its own term's coefficient apart.

    An exponent that takes only its coefficient along (a term that is a step at its smallest scale) has a
    profile worth following: it says from where on it is flat.
    """
    own = {f"c_{scale_of(name)}", f"alpha_{scale_of(name)}"}
    unseen = set(near.spectrum.unseen)
    return name in unseen and not unseen <= own


def rivals(
    bound: BoundForm, optimum: Optimum, near: Curvature, intervals: Mapping[str, Interval], level: float
) -> dict[str, float]:
    """Values outside a parameter's interval at which some start ended that the data cannot tell from the
    optimum.

    Two optima far apart and equally good (the roles of two scales exchanged, say) defeat a profile that
    follows one of them; the ends of the starts show both.
    """
    cut = optimum.cost + near.threshold(bound.problem.n_runs, level) ** 2 * near.unit
    ends = np.concatenate([optimum.params[None], optimum.ends[optimum.end_costs <= cut]])
    points = bound.to_point(ends)
    found = {}
    for name, low, high in zip(bound.form.param_names, points.min(0), points.max(0), strict=True):
        if name in intervals:
            inside = intervals[name]
            slack = 1e-6 * (inside.high - inside.low)
            for value in (to_value(name, float(low)), to_value(name, float(high))):
                if not inside.low - slack <= value <= inside.high + slack:
                    found[name] = value
    return found


def bootstrap_intervals(bound: BoundForm, sample: Bootstrap, level: float) -> dict[str, Interval]:
    """Expanded percentile intervals of every free parameter, in natural units.

    An end at the largest exponent allowed is no end: it becomes infinite.
    """
    found = {}
    for index in bound.problem.map.pick:
        name = bound.form.param_names[index]
        low, high = sample.interval(int(index), level)
        if name.startswith("alpha_") and high >= LARGEST_EXPONENT * (1 - 1e-6):
            high = np.inf
        found[name] = Interval(to_value(name, low), to_value(name, high))
    return found


def _profile(
    bound: BoundForm, optimum: Optimum, near: Curvature, names: Sequence[str], level: float
) -> tuple[dict[str, Interval], Array | None]:
    if not names:
        return {}, None
    threshold = near.threshold(bound.problem.n_runs, level)
    result = profile(
        bound.problem,
        optimum.params,
        optimum.cost,
        [_quantity(bound, optimum, near, name) for name in names],
        threshold=threshold,
        unit=near.unit,
    )
    if result.better is not None:
        return {}, result.better
    found = {}
    for name, low, high, trace in zip(names, result.lower, result.upper, result.traces, strict=True):
        shift = bound.functional(name)[1]
        values = np.array([to_value(name, v + shift) for v in trace.value])
        found[name] = Interval(
            low=max(to_value(name, float(low) + shift), 0.0),
            high=to_value(name, float(high) + shift),
            curve=ProfileCurve(name, values, trace.zeta, threshold),
        )
    return found, None


def _quantity(bound: BoundForm, optimum: Optimum, near: Curvature, name: str) -> Quantity:
    row, shift = bound.functional(name)
    pivot = bound.form.param_names.index(name)
    value = float(row @ optimum.params)
    stderr = float(np.sqrt(max(float(row @ near.spectrum.covariance @ row), 0.0)))
    if name.startswith("c_"):
        lower, upper = value - C_SEARCH, value + C_SEARCH
    else:  # α and floor are multiples of one internal parameter, so their bounds are too
        lower = float(bound.problem.lower[pivot] * row[pivot])
        upper = float(bound.problem.upper[pivot] * row[pivot])
    return Quantity(row, pivot, stderr or 0.05 * max(abs(value + shift), 1e-3), lower, upper)
