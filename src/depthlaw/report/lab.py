"""Laboratory runs in words, tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from depthlaw.lab.config import LabConfig
from depthlaw.lab.exponents import Exponents
from depthlaw.lab.fingerprints import Fingerprints, angle_laws
from depthlaw.lab.plan import cost, seconds_per_step
from depthlaw.lab.result import LabResult
from depthlaw.report.text import interval, number, table


def plan_lines(config: LabConfig) -> list[str]:
    """Say what an experiment would do and cost; takes a few training steps to time them."""
    found = cost(config)
    method = config.student.method
    each, engine = seconds_per_step(config)
    total = each * config.steps * found.tasks
    return [
        f"{found.tasks} tasks ({config.replicates} replicates, rho {_listed(config.rho)}), "
        f"each {found.students} students: depths {_listed(config.student.depths)}, "
        f"{len(config.task_temperatures)} temperatures, {method.stages} MLPs a block",
        f"a step: {found.passes} block passes of {config.batch} samples, {found.step_flops / 1e9:.3g} GFLOP; "
        f"in all {config.steps} steps a task, {found.flops:.3g} FLOP",
        f"{found.parameters:,} parameters in training, about {found.memory_bytes / 1e6:.0f} MB",
        f"engine {engine}: {1e3 * each:.0f} ms a step here, {duration(total)} in all",
    ]


def lab_payload(result: LabResult, found: Exponents, fingerprints: Fingerprints) -> dict[str, Any]:
    """Return a result for programs: final losses, exponents, fingerprints, and what diverged."""
    return {
        "engine": result.engine,
        "status": result.status,
        "final": result.final().to_pylist(),
        "exponents": [vars(row) for row in found.rows],
        "fingerprints": fingerprints.to_table().to_pylist(),
        "angle_laws": [vars(law) for law in angle_laws(fingerprints)],
        "diverged": result.diverged,
        "saturated": result.saturated,
        "warnings": [{"code": n.code, "message": n.message, "rows": list(n.rows)} for n in result.notices],
    }


def lab_text(result: LabResult, found: Exponents, fingerprints: Fingerprints) -> str:
    """Return a result for people: final losses with fingerprints, exponents, what diverged."""
    rows = result.final().to_pylist()
    columns = ("replica", "rho", "temperature", "depth", "step", "train_loss", "test_loss")
    names = [name for name in columns if any(row[name] is not None for row in rows)]
    who = ("replica", "rho", "temperature", "depth")
    prints = {tuple(row[name] for name in who): row for row in fingerprints.to_table().to_pylist()}
    shown = ("middle_angle", "middle_update_angle", "evenness")
    cells = [
        [_cell(row[name]) for name in names]
        + [number(prints[tuple(row[name] for name in who)][name], digits=3) for name in shown]
        for row in rows
    ]
    text = table(cells, [*names, *shown]) + "\n" + exponents_text(found)
    for law in angle_laws(fingerprints):
        if law.alpha is not None:
            at = "" if law.temperature is None else f", temperature {law.temperature:g}"
            text += (
                f"rho {law.rho:g}{at}: middle_angle ~ depth^-{number(law.alpha, digits=3)} "
                f"{interval(law.fit_low, law.fit_high)}\n"
            )
    return text + "".join(f"note: {notice.message}\n" for notice in result.notices)


def exponents_text(found: Exponents) -> str:
    """Return exponents of the loss in depth, one line each."""
    several = any(row.temperature is not None for row in found.rows)
    header = ["rho", *(["temperature"] if several else []), "step", "law", "alpha", "interval", "of the fit"]
    rows = [
        [
            _cell(row.rho),
            *([_cell(row.temperature)] if several else []),
            _cell(row.step),
            row.form,
            row.status if row.alpha is None else number(row.alpha, digits=3),
            interval(row.low, row.high),
            interval(row.fit_low, row.fit_high),
        ]
        for row in found.rows
    ]
    replicas = max((row.replicas for row in found.rows), default=0)
    teachers = "one teacher: other teachers may give others" if replicas == 1 else f"{replicas} teachers"
    return (
        table(rows, header) + f"loss ~ depth^-alpha; interval over test batches and replicates ({teachers})\n"
    )


def _listed(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)


def _cell(value: float | int | None) -> str:
    return number(value)


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it: ``0.4 s``, ``12 min``, ``1.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
