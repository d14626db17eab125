"""What ``depthlaw plan --out DIR`` and ``depthlaw design --out DIR`` write."""

from __future__ import annotations

from typing import Any

import numpy as np

from depthlaw.data.store import Run
from depthlaw.laws.result import Fit
from depthlaw.laws.saved import fit_document
from depthlaw.planning.design import Design
from depthlaw.planning.planned import Plan
from depthlaw.plots.design import draw_choice, draw_interval
from depthlaw.plots.plan import draw_equal_cost, draw_landscape, landscape
from depthlaw.plots.style import figure, rendered

UNITS = {
    "name": "1",
    "width": "units",
    "depth": "blocks",
    "tokens": "tokens",
    "params": "parameters",
    "flops": "FLOP",
    "loss": "as the loss",
    "without": "1",
    "excess": "1",
    "excess_low": "1",
    "excess_high": "1",
    "best_depth": "blocks",
    "best_depth_low": "blocks",
    "best_depth_high": "blocks",
    "value": "as named",
    "low": "as named",
    "high": "as named",
}


def write_plan(run: Run, fit: Fit, plan: Plan, payload: dict[str, Any], text: str) -> None:
    """Write everything that a run folder of ``plan`` holds.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    run.write_text("fit.json", fit_document(fit))
    run.write_json("result.json", payload)
    run.write_text("plan.txt", text)
    _table(run, "plan.parquet", plan.to_table())
    for k, shape in enumerate(plan.buildable, 1):
        run.write_json(f"configs/{k}_{shape.width}x{shape.depth}.json", dict(shape.config))
    if plan.curve is None:
        return
    c = plan.curve
    _columns(
        run, "equal_cost.parquet",
        {"depth": c.depth, "width": c.width, "tokens": c.tokens, "excess": c.excess, "excess_low": c.low,
         "excess_high": c.high},
    )  # fmt: skip
    land = landscape(fit, plan)
    line = {"width": land.line_width, "best_depth": land.line}
    _columns(run, "best_line.parquet", line | {"best_depth_low": land.low, "best_depth_high": land.high})
    grid = np.meshgrid(land.width, land.depth)
    _columns(
        run,
        "landscape.parquet",
        {"width": grid[0].ravel(), "depth": grid[1].ravel(), "loss": land.loss.ravel()},
    )
    with figure(size=(4.4, 3.8)) as (made, axes):
        draw_landscape(axes[0], land, fit, plan, plan.config.parameters)
        _figure(run, "landscape", made)
    with figure(size=(3.8, 2.9)) as (made, axes):
        draw_equal_cost(axes[0], plan)
        _figure(run, "equal_cost", made)


def write_design(run: Run, fit: Fit, design: Design, payload: dict[str, Any], text: str) -> None:
    """Write everything that a run folder of ``design`` holds.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    run.write_text("fit.json", fit_document(fit))
    run.write_json("result.json", payload)
    run.write_text("design.txt", text)
    _table(run, "runs.parquet", design.to_table())
    with figure(2, size=(6.8, 2.9)) as (made, axes):
        draw_choice(axes[0], fit, design)
        draw_interval(axes[1], design)
        _figure(run, "design", made)


def _table(run: Run, name: str, table: Any) -> None:
    run.write_table(name, table, units={column: UNITS[column] for column in table.column_names})


def _columns(run: Run, name: str, columns: dict[str, Any]) -> None:
    import pyarrow as pa

    _table(run, name, pa.table(columns))


def _figure(run: Run, name: str, made: Any) -> None:
    for file, data in rendered(made, name).items():
        run.write_bytes(file, data)
