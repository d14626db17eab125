"""Figures of a fitted law: its parts against each scale, its residuals, its profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depthlaw.laws.result import Estimate, Fit, ProfileCurve, Status
from depthlaw.numerics.terms import Array
from depthlaw.plots.style import FIT, MUTED, POINTS, SECOND, scale_axis
from depthlaw.plurals import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {
    "width": "width $m$ (d_model)",
    "depth": r"depth $\ell$ (blocks)",
    "tokens": "training tokens $D$",
    "params": "parameters $N$",
    "flops": "training compute (FLOP)",
    "loss": "loss (nats per token)",
}


@dataclass(frozen=True)
class LossPart:
    """What is left of every loss when all terms but one are taken away, and its mean at each distinct scale.

    Attributes
    ----------
    scale
        Which term is left.
    x, part
        (runs,) the scale and the rest of the loss.
    level, mean, stderr, count
        (distinct scales,) mean rest with its standard error (NaN for a single run) and number of runs.
    curve_x, curve, low, high
        (points,) the fitted term and its 95 % band from the covariance of ln c and α.
    """

    scale: str
    x: Array
    part: Array
    level: Array
    mean: Array
    stderr: Array
    count: Array
    curve_x: Array
    curve: Array
    low: Array
    high: Array


def loss_part(fit: Fit, scale: str, *, bins: int = 24) -> LossPart:
    """Compute what `draw_loss_part` draws; scales with more than ``bins`` values are binned in logs."""
    terms = fit.terms()
    x = fit.data[scale]
    part = fit.data["loss"] - sum(v for name, v in terms.items() if name != scale)
    levels, group = np.unique(x, return_inverse=True)
    if len(levels) > bins:
        edges = np.geomspace(x.min(), x.max() * (1 + 1e-12), bins + 1)
        group = np.unique(np.digitize(x, edges), return_inverse=True)[1]
    count = np.bincount(group).astype(float)
    mean = np.bincount(group, part) / count
    spread = np.sqrt(np.bincount(group, (part - mean[group]) ** 2) / np.maximum(count - 1, 1))
    stderr = np.where(count > 1, spread / np.sqrt(count), np.nan)
    level = np.exp(np.bincount(group, np.log(x)) / count)

    k = 2 * fit.form.scales.index(scale)
    curve_x = np.geomspace(x.min(), x.max(), 200)
    log_x = np.log(curve_x - fit.form.offsets.get(scale, 0.0))
    log_curve = fit.point[k] - fit.point[k + 1] * log_x
    design = np.stack([np.ones_like(log_x), -log_x])
    error = np.sqrt(
        np.maximum(np.einsum("ip,ij,jp->p", design, fit.covariance[k : k + 2, k : k + 2], design), 0)
    )
    return LossPart(
        scale, x, part, level, mean, stderr, count, curve_x,
        np.exp(log_curve), np.exp(log_curve - 1.96 * error), np.exp(log_curve + 1.96 * error),
    )  # fmt: skip


def draw_loss_part(ax: Axes, part: LossPart, exponent: Estimate) -> Axes:
    """Draw the rest of the loss against one scale with the fitted power, as in the paper's Fig. 2f."""
    shown = part.part > 0
    ax.plot(part.x[shown], part.part[shown], ".", ms=3, color=MUTED, zorder=1, label="runs", rasterized=True)
    good = part.mean - np.nan_to_num(part.stderr) > 0
    ax.errorbar(
        part.level[good],
        part.mean[good],
        yerr=part.stderr[good],
        fmt="o",
        ms=3.5,
        lw=0.9,
        color=FIT,
        zorder=3,
        label="mean ± s.e.",
    )
    if exponent.status in (Status.OK, Status.FIXED, Status.TIED):
        symbol = {"width": "m", "depth": r"\ell", "tokens": "D", "params": "N"}.get(part.scale, "x")
        label = rf"${symbol}^{{-{exponent.value:.2f}}}$"
        ax.plot(part.curve_x, part.curve, color=SECOND, zorder=2, label=label)
        if exponent.status is Status.OK:
            ax.fill_between(part.curve_x, part.low, part.high, color=SECOND, alpha=0.15, lw=0, zorder=0)
    lowest = np.concatenate([part.mean[good], part.curve]).min()
    highest = np.concatenate([part.part[shown], part.curve]).max()
    ax.set_ylim(lowest / 2, highest * 1.6)
    scale_axis(ax, "x", base=2 if part.scale in ("depth", "width") else 10)
    scale_axis(ax, "y")
    hidden = int((part.part <= lowest / 2).sum())
    if hidden:
        ax.text(
            0.02,
            0.02,
            f"{counted(hidden, 'run')} below the axis",
            transform=ax.transAxes,
            fontsize=7,
            color=POINTS,
        )
    ax.set_xlabel(LABELS.get(part.scale, part.scale))
    ax.set_ylabel("loss minus the other terms")
    ax.legend(loc="upper right", handlelength=1.4)
    return ax


def draw_residuals(ax: Axes, fit: Fit) -> Axes:
    """Draw residuals against the predicted loss; shape shows a form that does not fit."""
    predicted, residual = fit.predict(), 100 * np.expm1(fit.residuals())
    ax.axhline(0, color=MUTED, lw=0.8, zorder=0)
    ax.plot(predicted, residual, ".", ms=4, color=FIT, alpha=0.5, mew=0)
    band = 1.96 * np.sqrt(fit.quality.mse)
    for edge in (-band, band):
        ax.axhline(100 * np.expm1(edge), color=SECOND, lw=0.8, ls="--", zorder=0)
    ax.set_title("dashed: ±1.96 rms", loc="right", fontsize=7)  # above the axes, where no line crosses it
    ax.set_xlabel("predicted loss")
    ax.set_ylabel("predicted / observed − 1 (%)")
    return ax


def draw_profile(ax: Axes, curve: ProfileCurve, estimate: Estimate) -> Axes:
    """Draw |ζ| of one parameter; the interval lies below the dashed line, a straight V is a normal error."""
    with np.errstate(divide="ignore"):
        x = np.log10(curve.value) if curve.name.startswith("c_") else curve.value
    keep = np.isfinite(x) & (np.abs(curve.zeta) <= 1.6 * curve.threshold)
    ax.plot(x[keep], np.abs(curve.zeta[keep]), "-o", ms=2.5, lw=1.2, color=FIT)
    ax.axhline(curve.threshold, color=SECOND, lw=0.8, ls="--")
    if estimate.status is Status.OK and estimate.interval is not None:
        ends = np.log10(estimate.interval) if curve.name.startswith("c_") else estimate.interval
        for end in np.atleast_1d(ends):
            ax.axvline(float(end), color=MUTED, lw=0.8, zorder=0)
    ax.set_ylim(0, 1.7 * curve.threshold)
    ax.set_xlabel(f"log10 {curve.name}" if curve.name.startswith("c_") else curve.name)
    ax.set_ylabel(r"$|\zeta|$")
    return ax
