"""Outcomes for people (text) and for programs (one JSON object)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from depthlaw.report.text import NONE, number, table
from depthlaw.reproduce.keeping import SCHEMA, record
from depthlaw.reproduce.outcome import Comparison, Correction, Outcome, Verdict

HEAD = ["", "published", "ours", "difference", "digits", "verdict", ""]
CORRECTIONS_HEAD = ["their way", "corrected", "known defect of the published method"]


def outcome_text(outcome: Outcome) -> str:
    """One experiment as text: what it ran on, the comparison table, what else was found."""
    lines = [f"{outcome.id}: {outcome.title}", f"  on {outcome.input}" if outcome.input else ""]
    if outcome.skipped:
        lines.append(f"  skipped: {outcome.skipped}")
    if outcome.failed:
        lines.append(f"  FAILED: {outcome.failed}")
    text = "\n".join(line for line in lines if line) + "\n"
    if outcome.comparisons:
        text += "\n" + table([_row(c) for c in outcome.comparisons], HEAD)
    if outcome.corrections:
        text += "\n" + table([_correction(c) for c in outcome.corrections], CORRECTIONS_HEAD)
    if outcome.said:
        text += "\n" + "\n".join(outcome.said) + "\n"
    if outcome.notices:
        text += "\n" + "\n".join(f"note: {n}" for n in outcome.notices) + "\n"
    return text


def _row(c: Comparison) -> list[str]:
    return [
        c.quantity,
        with_error(c.published, c.published_error),
        with_error(c.ours, c.error),
        difference_text(c),
        "—" if c.digits is None else str(c.digits),
        c.verdict,
        c.note,
    ]


def with_error(value: float | None, error: float | None) -> str:
    """Write a number with its standard error, if it has one: ``1.33 ± 0.29``."""
    return number(value, error) if not error else f"{number(value, error)} ± {number(error, digits=2)}"


def difference_text(c: Comparison) -> str:
    """Write a difference with its unit: ``+0.41 s.e.`` or, where no error is known, ``+2 %``."""
    if c.difference is None:
        return NONE
    return f"{c.difference:+.2f} s.e." if in_errors(c) else f"{100 * c.difference:+.2g} %"


def in_errors(c: Comparison) -> bool:
    """Whether the difference counts standard errors; it is relative otherwise."""
    return bool(c.published_error or c.error)


def summary_text(outcomes: Sequence[Outcome]) -> str:
    """One line an experiment: its verdict, and how many of its numbers agree."""
    rows = []
    for outcome in outcomes:
        passed = sum(c.verdict is Verdict.PASS for c in outcome.comparisons)
        compared = sum(c.verdict is not Verdict.NOT_COMPARABLE for c in outcome.comparisons)
        numbers = f"{passed} of {compared} numbers agree" if compared else ""
        rows.append([outcome.id, outcome.verdict, outcome.failed or outcome.skipped or numbers])
    return table(rows, ["experiment", "verdict", ""])


def _correction(c: Correction) -> list[str]:
    return [*both_numbers(c), c.defect]


def both_numbers(c: Correction) -> list[str]:
    """Write the number by the reference's way and the corrected one, with their unit."""
    unit = "" if c.unit == "1" else f" {c.unit}"
    return [number(value) + (unit if value is not None else "") for value in (c.reference, c.corrected)]


def outcomes_payload(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """All outcomes as one object, without the bytes of figures and tables."""
    return {
        "schema": SCHEMA,
        "experiments": [record(o) for o in outcomes],
    }
