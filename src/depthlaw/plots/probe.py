"""Figures of a probe, layer by layer and over a family of models; after the paper's Fig. 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from depthlaw.numerics.streaming import Array
from depthlaw.plots.style import FIT, MUTED, POINTS, SECOND, scale_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from depthlaw.probe.family import Family
    from depthlaw.probe.result import ProbeResult

RIGHT_ANGLE = np.pi / 2


@dataclass(frozen=True)
class LayerCurve:
    """One quantity of a probe, layer by layer.

    Attributes
    ----------
    name
        Of the quantity.
    layer
        (layers,) its index l.
    mean, stderr
        (layers,) mean over tokens, and its standard error over documents.
    low, high
        (layers,) 5 % and 95 % quantile over tokens.
    """

    name: str
    layer: Array
    mean: Array
    stderr: Array
    low: Array
    high: Array


def layer_curve(result: ProbeResult, quantity: str, tokens: str = "all") -> LayerCurve:
    """Take a curve out of a result.

    Raises
    ------
    UsageError
        When the quantity was not measured.
    """
    return LayerCurve(
        quantity,
        *(result.layers(quantity, name, tokens) for name in ("layer", "mean", "stderr", "q05", "q95")),
    )


def draw_angles(ax: Axes, curve: LayerCurve, *, normed_last: float | None = None) -> Axes:
    """Draw angles between neighbouring states or updates over the blocks: mean and spread over tokens.

    Parameters
    ----------
    curve
        ``theta_state`` or ``theta_update``, or their published numerics.
    normed_last
        Last angle with the last state after the final norm, as the paper has it; ``None`` to leave it out.
    """
    updates = curve.name.endswith("theta_update")
    # An update belongs to a block; the angle between two lies between two blocks.
    x = curve.layer + (1.5 if updates else 1.0)
    colour = SECOND if updates else FIT
    ax.fill_between(x, curve.low, curve.high, color=colour, alpha=0.15, lw=0, label="5% to 95% of tokens")
    ax.errorbar(x, curve.mean, yerr=curve.stderr, fmt="-o", ms=3, mew=0, lw=1.3, color=colour, label="mean")
    if normed_last is not None:
        ax.plot(x[-1], normed_last, "D", ms=4, mfc="white", mec=colour, label="normed")
    blocks_axis(ax, len(curve.mean) + updates)
    symbol = r"$\theta(\Delta h_l, \Delta h_{l+1})$" if updates else r"$\theta(h_l, h_{l+1})$"
    angle_axis(ax, f"{symbol} (rad)", float(np.nanmax(curve.high)))
    legend_above(ax, 3 if normed_last is not None else 2)
    return ax


def draw_glance(ax: Axes, states: LayerCurve, updates: LayerCurve | None) -> Axes:
    """Draw a model at a glance: bars for how far each block turns the state, dots for how updates align."""
    blocks = states.layer + 1
    ax.bar(blocks, states.mean, width=0.72, color=FIT, label="a block turns the state by")
    highest = float(np.nanmax(states.mean))
    if updates is not None and len(updates.mean):
        ax.plot(
            updates.layer + 1.5,
            updates.mean,
            "o-",
            ms=3.5,
            mew=0,
            lw=0.8,
            color=SECOND,
            label="angle between its update and the next",
        )
        highest = max(highest, float(np.nanmax(updates.mean)))
    blocks_axis(ax, len(blocks))
    angle_axis(ax, "angle (rad)", highest)
    legend_above(ax)
    return ax


def draw_lens(ax: Axes, curve: LayerCurve, *, unmasked: LayerCurve | None = None) -> Axes:
    """Draw the cross-entropy of the next token read at every layer.

    Parameters
    ----------
    unmasked
        The same through a last block that sees later tokens, as published for Pythia; ``None`` for none.
    """
    if unmasked is not None:
        ax.plot(unmasked.layer, unmasked.mean, ":", color=SECOND, label="last block sees later tokens")
    ax.errorbar(
        curve.layer,
        curve.mean,
        yerr=curve.stderr,
        fmt="-o",
        ms=3,
        mew=0,
        lw=1.3,
        color=FIT,
        label="mean ± s.e.",
    )
    ax.axhline(curve.mean[-1], lw=0.8, ls="--", color=MUTED, zorder=0)
    ax.annotate(
        f"the model: {curve.mean[-1]:.2f}",
        (0.02, curve.mean[-1]),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=7.5,
        color=POINTS,
    )
    if unmasked is not None:
        legend_above(ax)
    ax.set_xlabel("state $h_l$ after block $l$")
    ax.set_ylabel("cross-entropy (nats per token)")
    ax.set_ylim(bottom=0)
    ax.margins(x=0.03)
    return ax


def draw_family(ax: Axes, found: Family) -> Axes:
    """Draw mean middle angles against depth with the fitted power; ends of models hollow, apart from it."""
    depths = found.depths
    errors = np.array([profile.stderr for profile in found.profiles])
    ax.plot(depths, found.first, "^", ms=4, mfc="none", mec=MUTED, label="first block")
    ax.plot(depths, found.last, "v", ms=4, mfc="none", mec=MUTED, label="last block")
    ax.errorbar(
        depths,
        found.middle,
        yerr=np.where(np.isfinite(errors), errors, 0.0),
        fmt="o",
        ms=4.5,
        color=FIT,
        label="mean of the middle",
    )
    x = np.geomspace(depths.min(), depths.max(), 100)
    beta = found.beta
    if beta.value is not None:
        line = found.fit.predict({"depth": x})
        ends = "" if beta.interval is None else f" [{beta.interval[0]:.2f}, {beta.interval[1]:.2f}]"
        ax.plot(x, line, color=SECOND, zorder=1, label=rf"$\ell^{{-{beta.value:.2f}}}${ends}")
        design = np.stack([np.ones_like(x), -np.log(x)])
        error = np.sqrt(np.einsum("ip,ij,jp->p", design, found.fit.covariance[:2, :2], design).clip(0))
        # As the interval in the legend has it: models are few, two of them are spent on the law.
        freedom = len(depths) - len(design)
        spread = stdtrit(freedom, 0.5 + found.fit.level / 2) * error
        ax.fill_between(x, line * np.exp(-spread), line * np.exp(spread), color=SECOND, alpha=0.15, lw=0)
    scale_axis(ax, "x", base=2)
    scale_axis(ax, "y")
    ax.set_xlabel(r"depth $\ell$ (blocks)")
    ax.set_ylabel(r"$\theta(h_l, h_{l+1})$ (rad)")
    legend_above(ax)
    return ax


def draw_similarity(ax: Axes, matrix: Array, *, label: str, limits: tuple[float, float] = (0.0, 1.0)) -> Axes:
    """Draw a similarity or distance of every two states as a map; what is not defined stays grey.

    Parameters
    ----------
    matrix
        (states, states), NaN where not defined.
    label
        What it is, for the colour bar.
    limits
        Values at the ends of the colours.
    """
    ax.set_facecolor(MUTED)
    image = ax.imshow(matrix, origin="lower", vmin=limits[0], vmax=limits[1], cmap="cividis")
    ax.figure.colorbar(image, ax=ax, label=label, fraction=0.046, pad=0.03)
    ax.set_xlabel("state $h_l$ after block $l$")
    ax.set_ylabel("state $h_k$ after block $k$")
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    return ax


def blocks_axis(ax: Axes, blocks: int) -> None:
    """An axis of blocks counted from 1."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, min_n_ticks=2))
    ax.set_xlim(0.3, blocks + 0.7)
    ax.set_xlabel("block")


def angle_axis(ax: Axes, label: str, highest: float = 0.0) -> None:
    """An axis of angles from 0 to a right angle, which is marked, or as far as they go."""
    ax.set_ylim(0, max(1.08 * RIGHT_ANGLE, min(1.04 * highest, np.pi)))
    ax.set_yticks(np.arange(0, ax.get_ylim()[1], 0.5))
    ax.set_ylabel(label)
    ax.axhline(RIGHT_ANGLE, lw=0.8, ls="--", color=MUTED, zorder=0)
    ax.annotate(
        "π/2",
        (1.0, RIGHT_ANGLE),
        xycoords=("axes fraction", "data"),
        xytext=(2, 0),
        textcoords="offset points",
        va="center",
        fontsize=7.5,
        color=POINTS,
    )


def legend_above(ax: Axes, columns: int = 2) -> None:
    """Put the legend over the axes, where it hides nothing."""
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=columns,
        columnspacing=1.2,
        handletextpad=0.5,
        handlelength=1.5,
        borderaxespad=0.2,
    )
