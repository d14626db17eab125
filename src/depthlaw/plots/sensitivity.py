"""Exponents along a choice: the curve, not the number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depthlaw.laws.curves import Curve
from depthlaw.plots.style import FIT, MUTED, SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LISTED = ("shapes", "influence")
"""Choices with names instead of numbers."""


def draw_curve(ax: Axes, curve: Curve, name: str, *, labels: bool = True) -> Axes:
    """Draw one parameter with its intervals along a curve; a cross marks where it is not identified.

    Numeric choices run along x; named ones (shapes, runs) are listed downwards.

    Parameters
    ----------
    labels
        Whether to name the listed choices; off for all but the first of panels side by side.
    """
    estimates = [next((e for e in s.exponents if e.name == name), None) for s in curve.settings]
    listed = curve.knob in LISTED
    place = np.array([-float(i) if listed else s.value for i, s in enumerate(curve.settings)])
    value = np.array([e.value if e and e.value is not None else np.nan for e in estimates])
    ends = np.array([e.interval if e and e.interval else (np.nan, np.nan) for e in estimates])
    known = np.isfinite(value)
    error = np.abs(np.stack([value - ends[:, 0], ends[:, 1] - value]))[:, known]
    base = curve.base if curve.base is not None and known[curve.base] else None
    if listed:
        ax.errorbar(value[known], place[known], xerr=error, fmt="o", ms=4, elinewidth=0.9, color=FIT)
        ax.set_yticks(place, [s.label for s in curve.settings] if labels else [], fontsize=7)
        ax.set_ylim(place.min() - 0.6, 0.6)
        if base is not None:
            ax.axvline(value[base], color=MUTED, lw=0.8, zorder=0)
            ax.plot(value[base], place[base], "o", ms=7, mfc="none", mec=SECOND, mew=1.4)
        for position in place[~known]:
            ax.text(0.02, position, "×", transform=ax.get_yaxis_transform(), color=SECOND, va="center")
        ax.set_xlabel(name)
        return ax
    ax.errorbar(place[known], value[known], yerr=error, fmt="o-", ms=4, lw=1.0, elinewidth=0.9, color=FIT)
    if base is not None:
        ax.axhline(value[base], color=MUTED, lw=0.8, zorder=0)
        ax.plot(place[base], value[base], "o", ms=7, mfc="none", mec=SECOND, mew=1.4)
    for position in place[~known]:
        ax.text(position, 0.02, "×", transform=ax.get_xaxis_transform(), color=SECOND, ha="center")
    if curve.knob == "delta":
        ax.set_xscale("log")
    ax.set_xlabel(curve.axis)
    ax.set_ylabel(name)
    return ax
