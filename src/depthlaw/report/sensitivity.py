"""Sensitivity curves for people (text), for programs (one JSON object) and as files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from depthlaw.data.store import Run
from depthlaw.laws.curves import Curve
from depthlaw.laws.result import Estimate
from depthlaw.plots.sensitivity import LISTED, draw_curve
from depthlaw.plots.style import figure, rendered
from depthlaw.report.text import NONE, interval, number, table

SCHEMA = 1


def sensitivity_payload(curves: Sequence[Curve]) -> dict[str, Any]:
    """All curves as one object."""
    return {"schema": SCHEMA, "curves": list(curves)}


def sensitivity_text(curves: Sequence[Curve]) -> str:
    """One table per curve: every exponent under every choice."""
    return "\n".join(_curve_text(curve) for curve in curves)


def _curve_text(curve: Curve) -> str:
    names = curve.names
    rows = []
    for position, setting in enumerate(curve.settings):
        found = {e.name: e for e in setting.exponents}
        mark = " *" if position == curve.base else ""
        cells = [_cell(found.get(name)) for name in names]
        rows.append([setting.label + mark, str(setting.n_runs), *(cells or [NONE] * len(names))])
    text = f"{curve.knob}: {curve.axis} (* as fitted)\n\n" + table(rows, ["", "runs", *names])
    problems = [f"{setting.label}: {setting.problem}\n" for setting in curve.settings if setting.problem]
    return text + ("\n" + "".join(problems) if problems else "")


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return NONE
    if estimate.value is None:
        return str(estimate.status)
    text = number(estimate.value, estimate.stderr)
    return f"{text} {interval(*estimate.interval)}" if estimate.interval else text


def write_sensitivity(run: Run, curves: Sequence[Curve]) -> None:
    """Write every curve as a table and one figure per curve and parameter.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    run.write_json("sensitivity.json", sensitivity_payload(curves))
    run.write_text("sensitivity.txt", sensitivity_text(curves))
    for curve in curves:
        columns = curve.to_table()
        run.write_table(f"{curve.knob}.parquet", columns, units=dict.fromkeys(columns.column_names, "1"))
        names = [name for name in curve.names if name.startswith("alpha_")]
        if not names:
            continue
        tall = 0.8 + 0.2 * len(curve.settings) if curve.knob in LISTED else 2.7
        with figure(len(names), size=(3.3 * len(names), tall)) as (made, axes):
            for ax, name in zip(axes, names, strict=True):
                draw_curve(ax, curve, name, labels=ax is axes[0])
            for name, data in rendered(made, curve.knob).items():
                run.write_bytes(name, data)
