"""Figures of a plan: loss over width and depth with the best line, and loss along equal cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.laws.result import Fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.allocate import Laws, best_shape
from depthlaw.planning.counting import Count
from depthlaw.planning.planned import Plan
from depthlaw.plots.law import LABELS
from depthlaw.plots.style import FIT, MUTED, POINTS, SECOND, scale_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODELS = {
    "GPT-2 XL": (1600, 48),
    "Pythia-12B": (5120, 36),
    "Llama-2-7B": (4096, 32),
    "Llama-2-70B": (8192, 80),
    "GPT-3": (12288, 96),
    "PaLM": (18432, 118),
}
"""Width and depth of some published models, from their papers and configurations."""


@dataclass(frozen=True)
class Landscape:
    """The loss over width and depth.

    Attributes
    ----------
    width, depth
        (points,) axes.
    loss
        (depths, widths), tokens as in the plan.
    line_width, line, low, high
        (points,) the best depth against width, for parameters as the plan counts them, with the band of the
        sampled laws.
    """

    width: Array
    depth: Array
    loss: Array
    line_width: Array
    line: Array
    low: Array
    high: Array


def landscape(fit: Fit, plan: Plan, *, points: int = 120) -> Landscape:
    """Compute what `draw_landscape` draws."""
    wide = [fit.data["width"].min(), fit.data["width"].max(), plan.width.value]
    deep = [
        fit.data["depth"].min(),
        fit.data["depth"].max(),
        plan.depth.value,
        plan.depth.low,
        plan.depth.high,
    ]
    deep = [d for d in deep if np.isfinite(d)]
    width = np.geomspace(min(wide) / 1.3, max(wide) * 2.2, points)
    depth = np.geomspace(
        max(min(deep) / 1.3, fit.form.offsets.get("depth", 0.0) + 0.5), max(deep) * 1.5, points
    )
    scales = {
        "width": np.broadcast_to(width, (points, points)),
        "depth": np.repeat(depth[:, None], points, 1),
    }
    if plan.tokens is not None:
        scales["tokens"] = np.full((points, points), plan.tokens.value)
    tails = [(1 - plan.level) / 2, (1 + plan.level) / 2]
    lines = _best_lines(Laws(fit.form, np.vstack([fit.point, plan.draws])), plan, width)
    low, high = np.nanquantile(lines[1:], tails, axis=0)
    return Landscape(width, depth, fit.predict(scales), width, lines[0], low, high)


def _best_lines(laws: Laws, plan: Plan, width: Array) -> Array:
    """Best depth at each width (laws, widths): best shapes of a range of sizes, interpolated in logs."""
    count = plan.config.parameters
    totals = np.geomspace(
        count(width[0] / 8, np.array(1.0)), count(width[-1] * 8, np.array(plan.depth.value * 64)), 48
    )
    found = [best_shape(laws, count, float(total)) for total in totals]
    known_width = np.log(np.stack([best.width for best in found], 1))
    known_depth = np.log(np.stack([best.depth for best in found], 1))
    lines = np.full((len(laws.points), len(width)), np.nan)
    for row, (x, y) in enumerate(zip(known_width, known_depth, strict=True)):
        good = np.isfinite(x) & np.isfinite(y)
        if good.sum() > 1:
            lines[row] = np.exp(np.interp(np.log(width), x[good], y[good], left=np.nan, right=np.nan))
    return lines


def draw_landscape(ax: Axes, land: Landscape, fit: Fit, plan: Plan, count: Count) -> Axes:
    """Draw contours of the loss, the runs, the best line with its band, equal cost, and known models."""
    from matplotlib.ticker import MaxNLocator

    levels = MaxNLocator(9).tick_values(*np.quantile(land.loss, [0.0, 0.9]))
    lines = ax.contour(land.width, land.depth, land.loss, levels, colors=MUTED, linewidths=0.7, zorder=0)
    ax.clabel(lines, fmt="%.3g", fontsize=6, colors=POINTS)
    ax.fill_between(land.line_width, land.low, land.high, color=SECOND, alpha=0.15, lw=0, zorder=1)
    ax.plot(land.line_width, land.line, color=SECOND, zorder=2, label=f"best shape, {plan.level:.0%} band")
    shapes = np.unique(np.stack([fit.data["width"], fit.data["depth"]], 1), axis=0)
    ax.plot(shapes[:, 0], shapes[:, 1], "o", ms=3, color=FIT, mew=0, alpha=0.6, zorder=3, label="runs")
    total = float(count(np.array(plan.width.value), np.array(plan.depth.value)))
    cost = count.width(np.full(len(land.depth), total), land.depth)
    ax.plot(cost, land.depth, color=FIT, ls="--", lw=0.9, zorder=2, label="equal cost")
    error = np.array([[plan.depth.value - plan.depth.low], [plan.depth.high - plan.depth.value]])
    error = np.where(np.isfinite(error), error, 0.0)
    ax.errorbar(
        [plan.width.value], [plan.depth.value], yerr=error, fmt="D", ms=4.5, color=SECOND, mec="white",
        mew=0.6, capsize=2.5, lw=1.2, zorder=5, label="plan",
    )  # fmt: skip
    low, high = (land.width[0], land.depth[0]), (land.width[-1], land.depth[-1])
    named = MODELS | {f"{w.width} × {w.depth}": (w.width, w.depth) for w in plan.whatif}
    for name, (width, depth) in named.items():
        if (width, depth) in MODELS.values() and name not in MODELS:
            continue
        if low[0] < width < 0.8 * high[0] and low[1] < depth < 0.9 * high[1]:
            ax.plot([width], [depth], "^", ms=4, color="black", mew=0, zorder=4)
            place = np.log(width / low[0]) / np.log(high[0] / low[0])
            left = place > 0.8 or (place > 0.6 and depth > 64)
            where, side = ((-5, 4), "right") if left else ((5, -8), "left")
            ax.annotate(
                name,
                (width, depth),
                xytext=where,
                textcoords="offset points",
                fontsize=6.5,
                ha=side,
                zorder=6,
            )
    scale_axis(ax, "x", base=2)
    scale_axis(ax, "y", base=2)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_xlabel(LABELS["width"])
    ax.set_ylabel(LABELS["depth"])
    ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=4, handlelength=1.4, columnspacing=1.2)
    return ax


def draw_equal_cost(ax: Axes, plan: Plan) -> Axes:
    """Draw how much is lost against depth at equal cost, with the interval of the best depth."""
    curve = plan.curve
    if curve is None:
        raise ValueError("a plan along a ray has no curve of equal cost")
    ax.fill_between(curve.depth, 100 * curve.low, 100 * curve.high, color=FIT, alpha=0.15, lw=0, zorder=0)
    ax.plot(curve.depth, 100 * curve.excess, color=FIT, zorder=2)
    for flat in plan.flat:
        ax.axhline(100 * flat.share, color=MUTED, lw=0.7, ls=":", zorder=0)
        style: dict[str, Any] = {"fontsize": 7, "color": POINTS, "ha": "right", "va": "bottom"}
        ax.text(curve.depth[-1], 100 * flat.share, f"{100 * flat.share:g} %", **style)
    if np.isfinite([plan.depth.low, plan.depth.high]).all():
        ax.axvspan(plan.depth.low, plan.depth.high, color=SECOND, alpha=0.12, lw=0, zorder=0)
    ax.axvline(plan.depth.value, color=SECOND, lw=1.2, zorder=1)
    scale_axis(ax, "x", base=2)
    ax.set_xlim(curve.depth[0], curve.depth[-1])
    ax.set_ylim(0, 3.0)
    ax.set_xlabel("depth at equal cost (blocks)")
    ax.set_ylabel("loss above the best (%)")
    ax.set_title(f"best depth {plan.depth.value:.3g} [{plan.depth.low:.3g}, {plan.depth.high:.3g}]")
    return ax
