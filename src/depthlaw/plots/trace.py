"""Figures of causal tracing: the heat map of Fig. 6, and effects averaged over prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from depthlaw.plots.style import FIT, MUTED, POINTS, SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = {
    "last subject token": (FIT, "-"),
    "last token": (SECOND, "-"),
    "first subject token": (POINTS, "--"),
    "middle subject tokens": (POINTS, ":"),
    "first token after": (MUTED, "--"),
    "further tokens": (MUTED, ":"),
}
"""Where Fig. 6 has its groups the lines are solid and have bands; the others would hide them."""


def draw_map(
    ax: Axes,
    values: NDArray[np.float64],
    words: Sequence[str],
    *,
    subject: tuple[int, int],
    clean: float,
    corrupted: float,
    label: str = "p(target)",
) -> Axes:
    """Draw what restoring each state gives, blocks as shares of the depth, as in Fig. 6.

    Greys run from the smallest to the largest value there is: nothing is clipped, and a value above the clean
    one stays visible (the bar marks the clean and the corrupted value).

    Parameters
    ----------
    values
        (blocks, tokens).
    words
        (tokens,) what the tokens show as; those of the subject get a star.
    clean, corrupted
        Values of the clean and the corrupted run.
    """
    depth, tokens = values.shape
    low, high = min(float(values.min()), corrupted), max(float(values.max()), clean)
    mesh = ax.pcolormesh(
        np.linspace(0, 1, depth + 1),
        np.arange(tokens + 1) - 0.5,
        values.T,
        cmap="Greys",
        vmin=low,
        vmax=high if high > low else low + 1e-12,
        rasterized=True,
    )
    names = [word.strip() or "␣" for word in words]
    inside = range(*subject)
    # A dollar sign would begin a formula.
    shown = [name.replace("$", r"\$") + ("*" if at in inside else "") for at, name in enumerate(names)]
    ax.set_yticks(np.arange(tokens), shown)
    ax.invert_yaxis()
    ax.set_xlabel(r"restored block $l/\ell$")
    figure = ax.figure
    bar = figure.colorbar(mesh, ax=ax, label=label)
    for value, style in ((clean, "-"), (corrupted, ":")):
        bar.ax.axhline(value, color=SECOND, ls=style, lw=1.2)
    return ax


def draw_effects(
    ax: Axes,
    mean: NDArray[np.float64],
    half_width: NDArray[np.float64],
    roles: Sequence[str],
) -> Axes:
    """Draw effects averaged over prompts against depth, one line a part that tokens play, with intervals.

    Parameters
    ----------
    mean, half_width
        (roles, blocks) in probability.
    """
    depth = mean.shape[1]
    x = (np.arange(depth) + 1) / depth
    ax.axhline(0, color=MUTED, lw=0.8, zorder=0)
    for line, half, role in zip(mean, half_width, roles, strict=True):
        if role not in _LINES:
            continue  # before the subject nothing can be brought back
        colour, style = _LINES[role]
        ax.plot(x, line, style, color=colour, label=role, lw=1.3)
        if style == "-" and np.isfinite(half).all():
            ax.fill_between(x, line - half, line + half, color=colour, alpha=0.15, lw=0)
    ax.set_xlabel(r"restored block $l/\ell$")
    ax.set_ylabel("p(restored) − p(corrupted)")
    ax.legend(fontsize=6.5, handlelength=1.4)
    return ax
