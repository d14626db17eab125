"""Fig. 3b, 4, 5 and App. C.3: depth exponents of trained students, each beside what is expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.lab import exponents as lab_exponents
from depthlaw.lab import fingerprints as lab_fingerprints
from depthlaw.lab.exponents import Exponent, exponents, steps_tested
from depthlaw.lab.fingerprints import fingerprints
from depthlaw.lab.metrics import UNITS
from depthlaw.lab.result import LabResult
from depthlaw.plots.lab import (
    draw_exponents,
    draw_guides,
    draw_layers,
    draw_loss_against_depth,
    draw_right_angle,
    final_of,
    legend,
    shades,
)
from depthlaw.plots.style import figure, rendered
from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.expected import expected
from depthlaw.reproduce.lab_runs import described, lab_run, reduced_reference, units_of
from depthlaw.reproduce.outcome import Comparison, Outcome, OutcomeFigure, OutcomeTable, compare
from depthlaw.reproduce.registry import Scale, select

if TYPE_CHECKING:
    import pyarrow as pa

INDEPENDENT, TIED = "kl-independent", "kl-tied"
NAMES = {0.0: "independent", 1.0: "tied"}


def fig3b(scale: Scale) -> Outcome:
    """Loss against depth for independent and for equal teacher blocks, at the highest temperature."""
    rows: list[Exponent] = []
    with figure(size=(3.6, 3.0)) as (made, axes):
        for name, color in zip((INDEPENDENT, TIED), shades(2), strict=True):
            result = lab_run(name, scale)
            rho, temperature = result.config.rho[0], result.config.temperatures[-1]
            row = exponents(result.test_batches).select(temperature=temperature, form="power")[0]
            rows.append(row)
            label = rf"{NAMES[rho]} blocks, $\alpha={_shown(row.alpha)}$"
            draw_loss_against_depth(axes[0], final_of(result, rho, temperature), label, color, row.alpha)
        legend(axes[0])
        axes[0].set_ylabel("KL divergence (nats)")
        files = rendered(made, "fig3b")
    return _outcome(
        "fig3b",
        scale,
        (INDEPENDENT, TIED),
        {f"alpha_{NAMES[row.rho]}": row.alpha for row in rows},
        {"fig3b": files},
        {"fig3b.parquet": lab_exponents.Exponents(tuple(rows))},
    )


def fig4a(scale: Scale) -> Outcome:
    """Loss against depth of the long tied run, for every temperature."""
    result = lab_run("kl-tied-long", scale)
    last = exponents(result.test_batches, floor=(False,))
    with figure(size=(3.6, 3.0)) as (made, axes):
        for row, color in zip(last.rows, shades(len(last.rows)), strict=True):
            label = rf"$T={row.temperature:.2g}$, $\alpha={_shown(row.alpha)}$"
            draw_loss_against_depth(axes[0], final_of(result, 1.0, row.temperature), label, color, row.alpha)
        legend(axes[0])
        axes[0].set_ylabel("KL divergence (nats)")
        files = rendered(made, "fig4a")
    values = {"alpha_warmest": last.rows[-1].alpha, "alpha_coldest": last.rows[0].alpha}
    return _outcome("fig4a", scale, ("kl-tied-long",), values, {"fig4a": files}, {"fig4a.parquet": last})


def fig4b(scale: Scale) -> Outcome:
    """The tied exponent over training time, for every temperature."""
    result = lab_run("kl-tied-long", scale)
    found = exponents(
        result.test_batches, steps=steps_tested(result.test_batches), floor=(False,), resamples=100
    )
    temperatures = result.config.temperatures
    with figure(size=(3.6, 3.0)) as (made, axes):
        for temperature, color in zip(temperatures, shades(len(temperatures)), strict=True):
            rows = found.select(temperature=temperature)
            draw_exponents(axes[0], rows, "step", rf"$T={temperature:.2g}$", color)
        draw_guides(axes[0], 1, 3)
        legend(axes[0])
        files = rendered(made, "fig4b")
    warm = found.select(temperature=temperatures[-1])
    values = {"alpha_warmest_end": warm[-1].alpha, "alpha_warmest_first": warm[0].alpha}
    return _outcome("fig4b", scale, ("kl-tied-long",), values, {"fig4b": files}, {"fig4b.parquet": found})


def fig4c(scale: Scale) -> Outcome:
    """Exponents against temperature, for independent and for equal teacher blocks."""
    rows: list[Exponent] = []
    values: dict[str, float | None] = {}
    with figure(size=(3.6, 3.0)) as (made, axes):
        for name, color in zip((INDEPENDENT, TIED), shades(2), strict=True):
            result = lab_run(name, scale)
            mine = exponents(result.test_batches, floor=(False,)).rows
            rows += mine
            kind = NAMES[result.config.rho[0]]
            draw_exponents(axes[0], mine, "temperature", f"{kind} blocks", color)
            values |= {f"alpha_{kind}_coldest": mine[0].alpha, f"alpha_{kind}_warmest": mine[-1].alpha}
        draw_guides(axes[0], 1, 3)
        legend(axes[0])
        files = rendered(made, "fig4c")
    tables = {"fig4c.parquet": lab_exponents.Exponents(tuple(rows))}
    return _outcome("fig4c", scale, (INDEPENDENT, TIED), values, {"fig4c": files}, tables)


def fig5(scale: Scale) -> Outcome:
    """Exponents of the squared error over training time, and what trained students do with their states."""
    return _over_time("fig5", "mse-long", scale)


def appC3(scale: Scale) -> Outcome:
    """The same with midpoint blocks."""
    return _over_time("appC3", "mse-midpoint", scale)


def _over_time(experiment: str, name: str, scale: Scale) -> Outcome:
    result = lab_run(name, scale)
    steps = steps_tested(result.test_batches)
    found = exponents(result.test_batches, steps=steps, resamples=100)
    prints = fingerprints(result.config, result.networks)
    values: dict[str, float | None] = {}
    with figure(3) as (made, axes):
        for rho, color in zip(result.config.rho, shades(len(result.config.rho)), strict=True):
            mine = found.select(rho=rho, form="power")
            kind, last = NAMES[rho], mine[-1].alpha
            label = rf"{kind}, $\alpha={_shown(last)}$"
            draw_loss_against_depth(axes[0], final_of(result, rho, None), label, color, last)
            draw_exponents(axes[1], mine, "step", kind, color)
            layers = [
                row
                for row in prints.layers.to_pylist()
                if row["rho"] == rho and row["depth"] == max(result.config.student.depths)
            ]
            draw_layers(axes[2], layers, "theta_update", kind, color)
            values[f"alpha_{kind}"] = last
            values[f"update_angle_{kind}"] = _deepest_angle(prints, rho)
        draw_guides(axes[1], 1, 3)
        legend(axes[0])
        axes[2].set_ylabel(r"$\theta(\Delta h_l, \Delta h_{l+1})$ (rad)")
        draw_right_angle(axes[2])
        files = rendered(made, experiment)
    tables = {f"{experiment}.parquet": found, f"{experiment}_students.parquet": prints}
    return _outcome(experiment, scale, (name,), values, {experiment: files}, tables)


def _deepest_angle(prints: lab_fingerprints.Fingerprints, rho: float) -> float | None:
    """Mean angle between neighbouring updates in the middle of the deepest students."""
    rows = [row for row in prints.students.to_pylist() if row["rho"] == rho]
    deepest = max(row["depth"] for row in rows)
    angles = [row["middle_update_angle"] for row in rows if row["depth"] == deepest]
    return None if None in angles else float(np.mean(angles))


def _outcome(
    experiment: str,
    scale: Scale,
    runs: Sequence[str],
    values: Mapping[str, float | None],
    figures: Mapping[str, Mapping[str, bytes]],
    tables: Mapping[str, Any],
) -> Outcome:
    """Put numbers beside what is expected of them at this scale."""
    theirs = expected(experiment, scale)
    comparisons: list[Comparison] = [
        compare(name, theirs[name], value) for name, value in values.items() if name in theirs
    ]
    alone = [f"{name} = {_shown(value)}" for name, value in values.items() if name not in theirs]
    results: list[LabResult] = [lab_run(name, scale) for name in runs]
    failed = [
        f"{name}: {notice.message}"
        for name, result in zip(runs, results, strict=True)
        for notice in result.notices
    ]
    units = units_of(UNITS, lab_exponents.UNITS, lab_fingerprints.UNITS)
    return Outcome(
        id=experiment,
        title=select([experiment])[0].title,
        input="; ".join(
            described(result.config, name, scale) for name, result in zip(runs, results, strict=True)
        ),
        comparisons=tuple(comparisons),
        reference=reduced_reference(scale),
        statements=(f"measured: {', '.join(alone)}",) if alone else (),
        figures={
            name: OutcomeFigure(files, caption(experiment), tuple(tables)) for name, files in figures.items()
        },
        tables={name: _with_units(found.to_table(), units) for name, found in tables.items()},
        notices=tuple(failed),
    )


def _with_units(table: pa.Table, units: Mapping[str, str]) -> OutcomeTable:
    return OutcomeTable(table, {name: units[name] for name in table.column_names})


def _shown(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"
