"""How all figures look, and how they are written: the same bytes for the same data."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS, FIT, SECOND, MUTED = "#7d8ca3", "#1f3b73", "#c8553d", "#b9c0cb"
"""Observations, the fit, what it is compared with, what recedes; told apart by lightness alone, too."""

FORMATS = ("pdf", "png", "svg")

_RC: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.5,
    "figure.dpi": 150,
    "savefig.dpi": 200,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


@contextmanager
def _house_style(**more: Any) -> Iterator[None]:
    """Our settings on top of matplotlib's own defaults, whatever the user has set."""
    from matplotlib import style

    with style.context(["default", {**_RC, **more}]):
        yield


@contextmanager
def figure(columns: int = 1, rows: int = 1, *, size: tuple[float, float] | None = None) -> Iterator[Any]:
    """Make a figure in the house style: yields (figure, array of Axes), closed afterwards.

    Parameters
    ----------
    size
        Width and height in inches; by default 3.1 × 2.7 a panel.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Not pyplot: it keeps global state and wants a display.
    with _house_style():
        made = Figure(figsize=size or (3.1 * columns, 2.7 * rows))
        FigureCanvasAgg(made)
        axes = made.subplots(rows, columns, squeeze=False)
        yield made, axes.ravel() if rows == 1 or columns == 1 else axes


def rendered(figure: Figure, name: str) -> dict[str, bytes]:
    """The figure as files: ``{"<name>.pdf": bytes, …}`` for every format, free of dates and random ids."""
    # Constrained layout iterates: drawn again, axes may move by a rounding, and with them the ids of an SVG.
    with _house_style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    files = {}
    for kind in FORMATS:
        buffer = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {}}[kind]
        with _house_style(**{"svg.hashsalt": name}):
            figure.savefig(buffer, format=kind, metadata=metadata)
        files[f"{name}.{kind}"] = buffer.getvalue()
    return files


def scale_axis(ax: Axes, which: str, *, base: int = 10) -> None:
    """Make an axis logarithmic with a few ticks: plain numbers if all can be (0.1, 1, 10), else powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis = ax.xaxis if which == "x" else ax.yaxis

    def plain(value: float, _position: int) -> str:
        low, high = sorted(axis.get_view_interval())
        shown = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
        if all(1e-3 <= tick < 1e5 for tick in (*shown, value)):  # one notation on an axis
            return f"{value:g}"
        if base == 2:
            return rf"$2^{{{math.log2(value):.0f}}}$"
        exponent = f"{value:.0e}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
        mantissa, _, power = exponent.partition("e")
        return rf"$10^{{{power}}}$" if mantissa == "1" else rf"${mantissa}\cdot10^{{{power}}}$"

    getattr(ax, f"set_{which}scale")("log", base=base)
    low, high = axis.get_view_interval()
    decades = abs(high / low) if low > 0 else 100.0
    subs = (1.0,) if base == 2 or decades > 30 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(base=base, subs=subs, numticks=8))
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
