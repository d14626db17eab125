"""Figures of trajectories of tokens: in the plane of their components, and over the blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from depthlaw.plots.probe import RIGHT_ANGLE, angle_axis, blocks_axis, legend_above
from depthlaw.plots.style import FIT, POINTS, SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from depthlaw.probe.trajectories import Trajectories

_MOST_POINTS = 6000  # tokens drawn of a cluster; more only blacken
_MOST_LINES = 120  # the same for whole trajectories


def draw_plane(ax: Axes, found: Trajectories) -> Axes:
    """Draw tokens in the plane of the two components of largest variance, with the two ideals.

    Raises
    ------
    ValueError
        When the tokens vary in one direction only.
    """
    if found.points.shape[1] < 2:
        raise ValueError("trajectories that vary in one direction only have no plane")
    known = np.isfinite(found.probability)
    early = known & (found.probability > 0.5)
    for member, colour, label in ((known & ~early, FIT, "tokens"), (early, SECOND, "turn least")):
        if not member.any():
            continue
        points = found.points[member][:: -(-int(member.sum()) // _MOST_POINTS)]
        name = label if not found.two or label != "tokens" else "others"
        ax.plot(
            points[:, 0],
            points[:, 1],
            ".",
            ms=2.5,
            mew=0,
            alpha=0.35 if colour == FIT else 0.8,
            color=colour,
            rasterized=True,
        )
        # A legend of faint dots cannot be read: its marker is drawn apart.
        ax.plot(
            [], [], "o", ms=4, mew=0, color=colour, label=f"{name} ({_percent(member.sum() / known.sum())})"
        )
    for point, marker, label in ((found.stops, "X", "ideal: stops"), (found.even, "*", "ideal: even")):
        size = 7 if marker == "X" else 10
        ax.plot(*point[:2], marker, ms=size, color="white", mec="black", mew=0.9, zorder=4, label=label)
    shares = found.principal.variance / found.principal.total
    ax.set_xlabel(f"component 1 (rad), {shares[0]:.0%} of the variance")
    ax.set_ylabel(f"component 2 (rad), {shares[1]:.0%}")
    ax.margins(0.08)
    legend_above(ax)
    return ax


def draw_trajectories(
    ax: Axes, found: Trajectories, *, theta: ArrayLike | None = None, normed_last: float | None = None
) -> Axes:
    """Draw the mean trajectory of each cluster over the blocks, with the two ideals.

    Parameters
    ----------
    theta
        (tokens, layers) radians, tokens in the order of ``found``: some of them are drawn faintly behind;
        ``None`` for none.
    normed_last
        Mean last angle with the last state after the final norm, as the paper has it; ``None`` for none.
    """
    blocks = np.arange(1, len(found.late.mean) + 1)
    if theta is not None:
        theta = np.asarray(theta)
        early = found.probability > 0.5
        for member, colour, most in ((~early, FIT, _MOST_LINES), (early, SECOND, _MOST_LINES // 4)):
            rows = theta[member & np.isfinite(theta).all(axis=1)]
            some = rows[:: -(-len(rows) // most) or 1]
            ax.plot(blocks, some.T, "-", color=colour, lw=0.5, alpha=0.15, zorder=1, rasterized=True)
    inner = np.zeros(len(blocks))
    inner[[0, -1]] = RIGHT_ANGLE
    ax.plot(blocks, inner, ":", lw=1.1, color=POINTS, label="ideal: stops")
    even = np.where(inner > 0, RIGHT_ANGLE, found.even_middle)
    ax.plot(blocks, even, "--", lw=1.1, color=POINTS, label="ideal: even")
    ax.plot(
        blocks,
        found.late.mean,
        "-o",
        color=FIT,
        label="others" if found.two else "all tokens",
        ms=3,
        mew=0,
    )
    if found.early is not None:
        ax.plot(blocks, found.early.mean, "-s", color=SECOND, label="turn least", ms=3, mew=0)
    if normed_last is not None:
        ax.plot(blocks[-1], normed_last, "D", ms=4, mfc="white", mec=FIT, zorder=4, label="normed")
    blocks_axis(ax, len(blocks))
    angle_axis(ax, r"$\theta(h_l, h_{l+1})$ (rad)", max(float(found.late.mean.max()), normed_last or 0.0))
    legend_above(ax)
    return ax


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{100 * share:.2g}%"
