"""Figures of the laboratory: loss against depth, exponents over time and temperature, states over depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.lab.exponents import Exponent, Exponents
from depthlaw.lab.fingerprints import Fingerprints
from depthlaw.lab.result import LabResult
from depthlaw.plots.style import MUTED, figure, rendered, scale_axis

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

RATES = {1: "-", 3: "--", 5: ":"}
"""Exponents with a meaning, and how their guides are drawn."""


def shades(count: int) -> list[Any]:
    """Return colours from dark to light for an ordered set of curves."""
    import matplotlib as mpl

    return [mpl.colormaps["viridis"](0.85 * k / max(count - 1, 1)) for k in range(count)]


def draw_loss_against_depth(ax: Axes, table: pa.Table, label: str, color: Any, alpha: float | None) -> Axes:
    """Draw the last test loss against depth, replicas as small points, their geometric mean with its power.

    Parameters
    ----------
    table
        Final rows of the metrics of one ρ and temperature.
    alpha
        Exponent to draw through the mean, ``None`` for no line.
    """
    depth = table["depth"].to_numpy()
    loss = table["test_loss"].to_numpy()
    ax.plot(depth, loss, ".", ms=3, color=color, alpha=0.5)
    levels = np.unique(depth)
    mean = np.array([np.exp(np.log(loss[depth == level]).mean()) for level in levels])
    ax.plot(levels, mean, "o", ms=4, color=color, label=label)
    if alpha is not None:
        centre = np.exp(np.log(levels).mean())
        through = np.exp(np.log(mean).mean()) * (levels / centre) ** -alpha
        ax.plot(levels, through, color=color, lw=1.2)
    scale_depth(ax, levels)
    scale_axis(ax, "y")
    ax.set_ylabel("test loss")
    return ax


def scale_depth(ax: Axes, depths: Sequence[int] | np.ndarray) -> None:
    """Make the horizontal axis one of depth, logarithmic, with the depths themselves as ticks."""
    scale_axis(ax, "x", base=2)
    ax.set_xticks([float(depth) for depth in depths], [f"{depth:g}" for depth in depths])
    ax.set_xlabel(r"depth $\ell$ (blocks)")


def draw_exponents(ax: Axes, rows: Sequence[Exponent], against: str, label: str, color: Any) -> Axes:
    """Draw exponents with their intervals against ``step``, ``temperature`` or ``rho``; the known ones."""
    known = [row for row in rows if row.alpha is not None]
    if not known:  # a logarithmic axis needs values
        return ax
    x = np.array([getattr(row, against) for row in known], float)
    value = np.array([row.alpha for row in known], float)
    low, high = (np.array([getattr(row, end) for row in known], float) for end in ("low", "high"))
    ax.plot(x, value, "o-", ms=3, color=color, label=label)
    ax.fill_between(x, low, high, color=color, alpha=0.2, lw=0)
    if against != "rho":
        scale_axis(ax, "x")
    if against == "temperature" and len(x) <= 6:
        ax.set_xticks(x, [f"{value:.2g}" for value in x])
    names = {"step": "training steps", "temperature": "temperature $T$", "rho": r"correlation $\rho$"}
    ax.set_xlabel(names[against])
    ax.set_ylabel(r"depth exponent $\alpha_\ell$")
    return ax


def draw_guides(ax: Axes, *rates: int) -> Axes:
    """Mark exponents with a meaning: 1 averaging, 3 and 5 converged methods of order 1 and 2."""
    for rate in rates:
        ax.axhline(rate, color=MUTED, lw=0.8, ls=RATES.get(rate, "-"), zorder=0)
    return ax


def draw_layers(ax: Axes, rows: Sequence[Mapping[str, Any]], quantity: str, label: str, color: Any) -> Axes:
    """Draw one quantity against the relative place of the block, mean over replicas.

    Parameters
    ----------
    rows
        Of `Fingerprints.layers`, of one ρ, temperature and depth.
    """
    known = [row for row in rows if row[quantity] is not None]
    layers = sorted({row["layer"] for row in known})
    mean = [np.mean([row[quantity] for row in known if row["layer"] == layer]) for layer in layers]
    ax.plot((np.array(layers) + 0.5) / len(layers), mean, "-", color=color, label=label)
    ax.set_xlabel("place in the network")
    return ax


def draw_right_angle(ax: Axes) -> Axes:
    """Mark π/2, where neighbouring updates have nothing in common."""
    ax.axhline(np.pi / 2, color=MUTED, lw=0.8, zorder=0)
    ax.annotate(
        r"$\pi/2$", (1, np.pi / 2), (-2, -2), ("axes fraction", "data"), "offset points",
        ha="right", va="top", color=MUTED,
    )  # fmt: skip
    return ax


def figures(result: LabResult, found: Exponents, prints: Fingerprints) -> dict[str, dict[str, bytes]]:
    """Draw a run: loss against depth, exponents over time, angles over depth; name → files.

    Parameters
    ----------
    found
        Exponents at every tested step.
    """
    power = Exponents(found.select(form="power"))
    steps = sorted({row.step for row in power.rows})
    last = Exponents(tuple(row for row in power.rows if row.step == steps[-1]))
    groups = [(row.rho, row.temperature) for row in last.rows]
    colors = dict(zip(groups, shades(len(groups)), strict=True))
    alphas = {(row.rho, row.temperature): row.alpha for row in last.rows}
    drawn = {}
    with figure(size=(3.6, 3.0)) as (made, axes):
        for group in groups:
            draw_loss_against_depth(
                axes[0], final_of(result, *group), _named(*group, alphas[group]), colors[group], alphas[group]
            )
        legend(axes[0])
        drawn["loss_depth"] = rendered(made, "loss_depth")
    curves = {group: power.select(rho=group[0], temperature=group[1]) for group in groups}
    if any(map(_is_curve, curves.values())):
        with figure(size=(3.6, 3.0)) as (made, axes):
            for group, rows in curves.items():
                draw_exponents(axes[0], rows, "step", _label(*group), colors[group])
            draw_guides(axes[0], 1, 3)
            legend(axes[0])
            drawn["exponent_step"] = rendered(made, "exponent_step")
    for against, values in (("temperature", result.config.temperatures), ("rho", result.config.rho)):
        if len(values) > 2 and (files := _exponents_against(result, last, against)):
            drawn[f"exponent_{against}"] = files
    if groups:
        drawn["states"] = _states(result, prints)
    return drawn


def _is_curve(rows: Sequence[Exponent]) -> bool:
    """Whether there is more than one exponent to draw."""
    return sum(row.alpha is not None for row in rows) > 1


def _exponents_against(result: LabResult, last: Exponents, against: str) -> dict[str, bytes]:
    """Draw final exponents against temperature, a curve for each ρ, or the other way round.

    Nothing where no curve would have two points.
    """
    other = "rho" if against == "temperature" else "temperature"
    values = result.config.rho if other == "rho" else result.config.task_temperatures
    if not any(_is_curve(last.select(**{other: value})) for value in values):
        return {}
    with figure(size=(3.6, 3.0)) as (made, axes):
        for value, color in zip(values, shades(len(values)), strict=True):
            label = _label(value, None) if other == "rho" else "_" if value is None else rf"$T={value:.2g}$"
            draw_exponents(axes[0], last.select(**{other: value}), against, label, color)
        draw_guides(axes[0], 1, 3)
        legend(axes[0])
        return rendered(made, f"exponent_{against}")


def _states(result: LabResult, prints: Fingerprints) -> dict[str, bytes]:
    """Draw angles between states and between updates for the deepest students of the last temperature."""
    deepest = max(result.config.student.depths)
    temperature = result.config.task_temperatures[-1]
    rows = [
        row
        for row in prints.layers.to_pylist()
        if row["depth"] == deepest and row["temperature"] == temperature
    ]
    with figure(2) as (made, axes):
        for rho, color in zip(result.config.rho, shades(len(result.config.rho)), strict=True):
            mine = [row for row in rows if row["rho"] == rho]
            draw_layers(axes[0], mine, "theta_state", _label(rho, None), color)
            draw_layers(axes[1], mine, "theta_update", _label(rho, None), color)
        axes[0].set_ylabel(r"$\theta(h_l, h_{l+1})$ (rad)")
        axes[1].set_ylabel(r"$\theta(\Delta h_l, \Delta h_{l+1})$ (rad)")
        draw_right_angle(axes[1])
        legend(axes[1])
        return rendered(made, "states")


def final_of(result: LabResult, rho: float, temperature: float | None) -> pa.Table:
    """Return the last rows of the metrics of one ρ and temperature."""
    import pyarrow.compute as pc

    table = result.final()
    found = table.filter(pc.equal(table["rho"], rho))
    return found if temperature is None else found.filter(pc.equal(found["temperature"], temperature))


def _label(rho: float | None, temperature: float | None) -> str:
    return rf"$\rho={rho:g}$" + ("" if temperature is None else rf", $T={temperature:.2g}$")


def _named(rho: float, temperature: float | None, alpha: float | None) -> str:
    """Name a curve of losses, which has no line through it where the exponent is not identified."""
    return _label(rho, temperature) + ("" if alpha is not None else r" ($\alpha_\ell$ not identified)")


def legend(ax: Axes) -> None:
    """Name the curves; of more than eight, which are an ordered set, five from the first to the last."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) > 8:
        shown = [round(k * (len(handles) - 1) / 4) for k in range(5)]
        handles, labels = [handles[k] for k in shown], [labels[k] for k in shown]
    if handles:
        ax.legend(handles, labels, handlelength=1.4)
