"""Intervals for the parameters of a law in natural units: profile likelihood, and bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Profile every parameter that has a chance.

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
    return _profile(bound, optimum, near, free, level)


def in_combination(name: str, near: Curvature) -> bool:
    """Whether the data see a parameter only together with others, its own term's coefficient apart.

    An exponent that takes only its coefficient along (a term that is a step at its smallest scale) has a
    profile worth following: it says from where on it is flat.
    """
    own = {f"c_{scale_of(name)}", f"alpha_{scale_of(name)}"}
    unseen = set(near.spectrum.unseen)
    return name in unseen and not unseen <= own


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
        elsewhere=optimum.ends[np.isfinite(optimum.end_costs)],
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
