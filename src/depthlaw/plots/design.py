"""Figures of a design: which runs it chooses, and the interval before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depthlaw.laws.result import Fit
from depthlaw.planning.design import Design
from depthlaw.plots.law import LABELS
from depthlaw.plots.style import FIT, MUTED, POINTS, SECOND, scale_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_choice(ax: Axes, fit: Fit, design: Design) -> Axes:
    """Draw the runs at hand and those chosen, their area growing with their cost."""
    shapes = np.unique(np.stack([fit.data["width"], fit.data["depth"]], 1), axis=0)
    ax.plot(shapes[:, 0], shapes[:, 1], "o", ms=3, color=MUTED, mew=0, zorder=1, label="runs at hand")
    width = np.array([r.width for r in design.runs])
    depth = np.array([r.depth for r in design.runs])
    share = np.array([r.flops for r in design.runs]) / design.flops
    ax.scatter(width, depth, s=20 + 260 * share, color=SECOND, alpha=0.45, lw=0, zorder=2)
    ax.plot(width, depth, "x", ms=4, color=SECOND, zorder=3, label="to train (area: cost)")
    every = np.concatenate([shapes, np.stack([width, depth], 1)])
    ax.set_xlim(every[:, 0].min() / 1.5, every[:, 0].max() * 1.5)
    ax.set_ylim(every[:, 1].min() / 1.5, every[:, 1].max() * 2.4)
    scale_axis(ax, "x", base=2)
    scale_axis(ax, "y", base=2)
    ax.set_xlabel(LABELS["width"])
    ax.set_ylabel(LABELS["depth"])
    ax.legend(loc="upper left", ncols=2, handlelength=1.0, fontsize=7, columnspacing=1.0)
    return ax


def draw_interval(ax: Axes, design: Design) -> Axes:
    """Draw the interval of the quantity now and as expected after the design and after a plain grid."""
    value = design.value
    widths = {"expected now": design.expected_now, "after a plain grid": design.expected_grid}
    widths["after these runs"] = design.expected_after
    logs = value is not None and (design.config.goal == "best-depth" or design.config.goal.startswith("c_"))
    for row, (name, width) in enumerate(reversed(widths.items())):
        color = SECOND if name == "after these runs" else FIT
        if value is None:
            ax.barh(row, width, color=color, height=0.5)
            continue
        low, high = value - width / 2, value + width / 2
        if logs:
            low, high = value * np.exp(-width / 2), value * np.exp(width / 2)
        ax.plot([low, high], [row, row], color=color, lw=5, solid_capstyle="butt", zorder=2)
        ax.plot([value], [row], "o", color="white", ms=3, zorder=3)
    if design.now is not None and np.isfinite([design.now.low, design.now.high]).all():
        ax.plot([design.now.low, design.now.high], [2.33, 2.33], color=POINTS, lw=1.2, zorder=2)
        ax.text(design.now.low, 2.38, "now, as fitted", fontsize=6.5, color=POINTS, va="bottom")
    if value is not None:
        ax.axvline(value, color=MUTED, lw=0.8, zorder=0)
    if logs:
        scale_axis(ax, "x")
    ax.set_yticks(range(len(widths)), list(reversed(widths)))
    ax.set_ylim(-0.6, len(widths) - 0.4)
    ax.set_xlabel("expected width, geometric mean" if value is None else design.goal.partition(" (")[0])
    ax.set_title(f"{design.level:.0%} interval for {_power(design.flops)} FLOP")
    return ax


def _power(value: float) -> str:
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return rf"${mantissa}\cdot10^{{{int(exponent)}}}$"
