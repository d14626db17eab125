"""Laboratory runs in words, tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from depthlaw.lab.config import LabConfig
from depthlaw.lab.exponents import Exponents
from depthlaw.lab.fingerprints import Fingerprints, angle_laws
from depthlaw.lab.plan import cost, seconds_per_step
from depthlaw.lab.result import LabResult
from depthlaw.plurals import counted
from depthlaw.report.text import interval, number, table

_HEADINGS = {"middle_update_angle": "update_angle"}
"""Shorter than the names of the columns, so that a line fits a terminal."""


def plan_lines(config: LabConfig) -> list[str]:
    """Say what an experiment would do and cost; takes a few training steps to time them."""
    found = cost(config)
    method = config.student.method
    each, engine = seconds_per_step(config)
    total = each * config.steps * found.tasks
    return [
        f"{counted(found.tasks, 'task')} ({counted(config.replicates, 'replicate')}, "
        f"rho {_listed(config.rho)}), each {counted(found.students, 'student')}: "
        f"depths {_listed(config.student.depths)}, "
        f"{counted(len(config.task_temperatures), 'temperature')}, {counted(method.stages, 'MLP')} a block",
        f"a step: {found.passes} block passes of {counted(config.batch, 'sample')}, "
        f"{number(found.step_flops / 1e9, digits=3)} GFLOP; "
        f"in all {counted(config.steps, 'step')} a task, {found.flops:.3g} FLOP",
        f"{found.parameters:,} parameters in training; memory: {_estimate(found.memory_bytes / 1e6, 'MB')}",
        f"engine {engine}: {_estimate(1e3 * each, 'ms')} a step here, {duration(total)} in all",
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
    who = ("replica", "rho", "temperature", "depth")
    columns = [name for name in (*who, "step") if any(row[name] is not None for row in rows)]
    alike = [name for name in columns if name != "depth" and len({row[name] for row in rows}) == 1]
    names = [*(name for name in columns if name not in alike), "train_loss", "test_loss"]
    prints = {tuple(row[name] for name in who): row for row in fingerprints.to_table().to_pylist()}
    shown = ("middle_angle", "middle_update_angle", "evenness")
    cells = [
        [_cell(row[name]) for name in names]
        + [number(prints[tuple(row[name] for name in who)][name], digits=3) for name in shown]
        for row in rows
    ]
    head = ", ".join(f"{name} {_cell(rows[0][name])}" for name in alike)
    text = f"{head}\n\n" if head else ""
    text += table(cells, [*names, *(_HEADINGS.get(name, name) for name in shown)])
    text += "\n" + exponents_text(found)
    for law in angle_laws(fingerprints):
        if law.alpha is not None:
            at = "" if law.temperature is None else f", temperature {law.temperature:g}"
            text += (
                f"rho {law.rho:g}{at}: middle_angle ~ depth^-{_within(law.alpha, law.fit_low, law.fit_high)} "
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
            row.status if row.alpha is None else _within(row.alpha, row.low, row.high),
            interval(row.low, row.high),
            interval(row.fit_low, row.fit_high),
        ]
        for row in found.rows
    ]
    replicas = max((row.replicas for row in found.rows), default=0)
    teachers = counted(replicas, "teacher") + (": others may differ" if replicas == 1 else "")
    return (
        f"{table(rows, header)}loss ~ depth^-alpha; interval over test batches and replicates ({teachers})\n"
        + "".join(f"{line}\n" for line in _not_identified(found))
    )


def _not_identified(found: Exponents) -> Iterator[str]:
    """Say why exponents are missing, each reason once with the laws that it is about."""
    whom: dict[str, dict[str, None]] = {}
    for row in found.rows:
        if row.alpha is None and row.reason:
            whom.setdefault(row.reason, {})[row.form] = None
    return (f"{' and '.join(forms)} not identified: {reason}." for reason, forms in whom.items())


def _within(value: float, low: float | None, high: float | None) -> str:
    """Write a number to the decimals of its interval, so that the two can be compared."""
    if low is None or high is None:
        return number(value, digits=3)
    return number(value, (high - low) / 2, digits=3)


def _listed(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)


def _cell(value: float | int | None) -> str:
    return number(value)


def _estimate(value: float, unit: str) -> str:
    """Write an estimate with two digits, or as less than what is worth a number."""
    if value < 0.01:
        return f"under 0.01 {unit}"
    return f"{value:.0f} {unit}" if value >= 10 else f"{number(value, digits=2)} {unit}"


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it: ``0.40 s``, ``12 min``, ``1.5 h``."""
    if seconds < 90:
        return _estimate(seconds, "s")
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
