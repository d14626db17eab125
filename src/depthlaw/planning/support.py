"""Where the data are: how far a point lies outside of them, and whether they determine a law there at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from depthlaw.laws.identify import gaps_before, listing
from depthlaw.laws.result import Fit
from depthlaw.numerics.terms import Array

NOT_SCALES = ("loss", "weights", "cluster")
"""Columns of a fit's data that are no scales."""
ON_RAY = 0.05
"""Log distance from the common line of two scales up to which a point counts as on it."""
NEAR = 0.05
"""Log distance from the data up to which a point counts as inside."""
FAR = float(np.log(4.0))
"""Log distance, a factor 4, from which a prediction is far outside the data."""


@dataclass(frozen=True)
class Dial:
    """Two scales that move together in every run: ln ``other`` = intercept + slope · ln ``one``.

    Attributes
    ----------
    reason, remedy
        What is not determined because of it, and which runs would mend it.
    """

    one: str
    other: str
    slope: float
    intercept: float
    reason: str
    remedy: str

    def partner(self, value: Array) -> Array:
        """The value of ``other`` that goes with a value of ``one``."""
        return np.asarray(np.exp(self.intercept + self.slope * np.log(value)))

    def __str__(self) -> str:
        return f"{self.other} = {np.exp(self.intercept):.4g} {self.one}^{self.slope:.3g}"


def dials(fit: Fit) -> tuple[Dial, ...]:
    """Pairs of scales of the law that are one dial in the data."""
    found = []
    for gap in gaps_before(fit.form, fit.data):
        if len(gap.scales) == 2 and "floor" not in gap.scales:
            one, other = gap.scales
            slope, intercept = np.polyfit(np.log(fit.data[one]), np.log(fit.data[other]), 1)
            found.append(Dial(one, other, float(slope), float(intercept), gap.reason, gap.remedy))
    return tuple(found)


def undetermined(fit: Fit, scales: Mapping[str, Array]) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Where the data do not determine the law: a mask (points,), and the reasons met.

    Between runs on one dial, off it; between the two values of a scale that has only two; anywhere but at
    the single value of a scale that never changes.
    """
    shape = next(iter(scales.values())).shape
    mask, reasons = np.zeros(shape, bool), []
    for dial in dials(fit):
        off = np.abs(np.log(scales[dial.other] / dial.partner(scales[dial.one]))) > ON_RAY
        if off.any():
            reasons.append(f"off the line {dial}: {dial.reason}; {dial.remedy}")
        mask |= off
    for scale, values in fit.data.items():
        distinct = np.unique(values)
        if scale in NOT_SCALES or scale not in scales or len(distinct) > 2:
            continue
        if len(distinct) == 2 and not (fit.form.floor and "floor" not in fit.form.fixed):
            continue
        if any(f"{kind}_{scale}" in fit.form.fixed for kind in ("c", "alpha")):
            continue
        off = np.abs(np.log(scales[scale][..., None] / distinct)).min(-1) > ON_RAY
        if off.any():
            reasons.append(f"the data know {scale} {listing(distinct)} only")
        mask |= off
    return mask, tuple(reasons)


@dataclass(frozen=True)
class Distance:
    """How far points lie outside the data, in log units (0.69 is a factor 2).

    Attributes
    ----------
    beyond
        By scale, (points,): positive above the largest value in the data, negative below the smallest, 0
        between.
    hull
        (points,) distance from the convex hull of the runs' log scales: 0 where a point is an interpolation,
        positive also where each scale is within its range but the combination is not.
    """

    beyond: Mapping[str, Array]
    hull: Array

    def words(self, index: int) -> str:
        """One point's distance in words; empty inside the data."""
        if self.hull[index] <= NEAR:
            return ""
        parts = [
            f"{scale} {np.exp(abs(d[index])):.2g}× {'above' if d[index] > 0 else 'below'} the data"
            for scale, d in self.beyond.items()
            if abs(d[index]) > NEAR
        ]
        how = "far outside" if self.hull[index] > FAR else "outside"
        detail = ", ".join(parts) or "each scale is within its range, their combination is not"
        return f"{how} the data by {self.hull[index]:.2f} log units ({detail})"


def distance(fit: Fit, scales: Mapping[str, Array]) -> Distance:
    """Distance of points (points,) by scale from the runs of a fit."""
    names = [s for s in scales if s in fit.data]
    known = np.stack([np.log(fit.data[s]) for s in names], 1)
    asked = np.stack([np.log(np.asarray(scales[s], float)) for s in names], 1)
    low, high = known.min(0), known.max(0)
    beyond = np.maximum(asked - high, 0.0) + np.minimum(asked - low, 0.0)
    corners = np.unique(known, axis=0)
    return Distance(
        {name: beyond[:, k] for k, name in enumerate(names)},
        np.array([_hull_distance(corners, point) for point in asked]),
    )


def _hull_distance(corners: Array, point: Array) -> float:
    """Distance of ``point`` (scales,) from the convex hull of ``corners`` (runs, scales)."""
    # Convex weights by non-negative least squares, their sum held at one by a heavy row.
    heavy = 1e4
    rows = np.vstack([(corners - point).T, np.full(len(corners), heavy)])
    target = np.zeros(len(point) + 1)
    target[-1] = heavy
    weights, _ = optimize.nnls(rows, target)
    gap = float(np.linalg.norm((weights / weights.sum()) @ (corners - point)))
    return gap if gap > 1e-6 else 0.0
