"""Figures of layer plans: what each costs, block by block, and swaps against their distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from depthlaw.plots.style import FIT, MUTED, POINTS, SECOND, scale_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = {"skip": (FIT, "o"), "swap": (SECOND, "s"), "repeat": (POINTS, "^")}


def draw_costs(
    ax: Axes,
    costs: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
    depth: int,
    *,
    predicted: float | None = None,
    what: str = "change of loss (nats per token)",
) -> Axes:
    """Draw the change of loss of plans that concern one place, against that place.

    Parameters
    ----------
    costs
        Kind of plan → first block concerned, change of loss, standard error.
    predicted
        What averaging predicts for a skip; a dashed line.
    """
    values = np.concatenate([np.asarray(cost, dtype=float) for _, cost, _ in costs.values()])
    for kind, (block, cost, error) in costs.items():
        colour, mark = _MARKS.get(kind, (MUTED, "d"))
        ax.errorbar(
            np.asarray(block), np.asarray(cost), yerr=np.asarray(error), fmt=f"{mark}-", ms=3, lw=0.8,
            elinewidth=0.8, color=colour, label=kind,
        )  # fmt: skip
    if predicted is not None:
        ax.axhline(predicted, color=MUTED, ls="--", lw=1.0, label="skip, if averaging")
    if len(values) and values.min() > 0:
        scale_axis(ax, "y")
    else:
        # The ends cost far more than the middle, and a repeat may help.
        ax.set_yscale("symlog", linthresh=0.01)
    ax.set_xlim(-0.7, depth - 0.3)
    # Room for the names between the curves and the top, wherever the curves are.
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.3 if low > 0 else high * 8)
    ax.set_xlabel("block")
    ax.set_ylabel(what)
    ax.legend(loc="upper center", ncols=2)
    return ax


def draw_swaps(
    ax: Axes,
    distances: Sequence[int],
    cost: Sequence[float],
    error: Sequence[float],
    *,
    what: str = "KL to the intact model (nats)",
) -> Axes:
    """Draw what swaps do to the output against the distance of the two blocks, with what regimes predict."""
    x, y = np.asarray(distances, dtype=float), np.asarray(cost)
    ax.errorbar(
        x, y, yerr=np.nan_to_num(np.asarray(error)), fmt="o-", ms=4, lw=1.0, color=FIT, label="measured"
    )
    ax.plot(x, y[0] * (2 * x - 1) / (2 * x[0] - 1), ls="--", lw=1.2, color=MUTED, label="averaging: 2d − 1")
    ax.plot(x, y[0] * (x / x[0]) ** 4, ls=":", lw=1.2, color=SECOND, label="smooth flow: d⁴")
    ax.set_xscale("log", base=2)
    # The flow leaves the figure; what was measured decides its range.
    ax.set_ylim(y.min() / 2, max(y.max(), y[0] * (2 * x[-1] - 1)) * 3)
    scale_axis(ax, "y")
    ax.set_xticks(x, [f"{value:g}" for value in x])
    ax.set_xlabel("distance of the swapped blocks")
    ax.set_ylabel(what)
    ax.legend()
    return ax
