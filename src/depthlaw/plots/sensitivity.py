"""Exponents along a choice: the curve, not the number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depthlaw.laws.sensitivity import Curve
from depthlaw.plots.style import FIT, MUTED, SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_curve(ax: Axes, curve: Curve, name: str) -> Axes:
    """Draw one parameter with its intervals along a curve; settings where it is not identified are marked."""
    by_setting = [(s, next((e for e in s.exponents if e.name == name), None)) for s in curve.settings]
    numeric = curve.knob in ("exclusion", "offset", "delta")
    x = np.array([s.value for s, _ in by_setting]) if numeric else np.arange(len(by_setting), dtype=float)
    known = np.array([e is not None and e.value is not None for _, e in by_setting])
    value = np.array([e.value if e and e.value is not None else np.nan for _, e in by_setting])
    ends = np.array([e.interval if e and e.interval else (np.nan, np.nan) for _, e in by_setting])
    error = np.abs(np.stack([value - ends[:, 0], ends[:, 1] - value]))
    style = "o-" if numeric else "o"
    ax.errorbar(
        x[known], value[known], yerr=error[:, known], fmt=style, ms=4, lw=1.0, elinewidth=0.9, color=FIT
    )
    if curve.base is not None and known[curve.base]:
        ax.plot(x[curve.base], value[curve.base], "o", ms=7, mfc="none", mec=SECOND, mew=1.4)
        ax.axhline(value[curve.base], color=MUTED, lw=0.8, zorder=0)
    for position in x[~known]:
        ax.annotate(
            "×", (position, 0.02), xycoords=("data", "axes fraction"), ha="center", color=SECOND, fontsize=9
        )
    if curve.knob == "delta":
        ax.set_xscale("log")
    if not numeric:
        ax.set_xticks(x, [s.label for s, _ in by_setting], rotation=40, ha="right", fontsize=7)
    ax.set_xlabel(curve.axis)
    ax.set_ylabel(name)
    return ax
