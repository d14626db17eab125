"""Outcomes for people (text) and for programs (one JSON object)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from depthlaw.report.text import number, table
from depthlaw.reproduce.outcome import Comparison, Outcome

SCHEMA = 1
HEAD = ["", "published", "ours", "difference", "digits", "verdict", ""]


def outcome_text(outcome: Outcome) -> str:
    """One experiment as text: what it ran on, the comparison table, what else was found."""
    lines = [f"{outcome.id}: {outcome.title}", f"  on {outcome.input}" if outcome.input else ""]
    if outcome.skipped:
        lines.append(f"  skipped: {outcome.skipped}")
    text = "\n".join(line for line in lines if line) + "\n"
    if outcome.comparisons:
        text += "\n" + table([_row(c) for c in outcome.comparisons], HEAD)
    if outcome.statements:
        text += "\n" + "\n".join(outcome.statements) + "\n"
    if outcome.notices:
        text += "\n" + "\n".join(f"note: {n}" for n in outcome.notices) + "\n"
    return text


def _row(c: Comparison) -> list[str]:
    difference = "—"
    if c.difference is not None:
        in_errors = c.published_error or c.error
        difference = f"{c.difference:+.2f} s.e." if in_errors else f"{100 * c.difference:+.2g} %"
    return [
        c.quantity,
        _with_error(c.published, c.published_error),
        _with_error(c.ours, c.error),
        difference,
        "—" if c.digits is None else str(c.digits),
        c.verdict,
        c.note,
    ]


def _with_error(value: float | None, error: float | None) -> str:
    return number(value, error) if not error else f"{number(value, error)} ± {number(error, digits=2)}"


def outcomes_payload(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """All outcomes as one object, without the bytes of figures and tables."""
    return {
        "schema": SCHEMA,
        "experiments": [
            {
                "id": o.id,
                "title": o.title,
                "input": o.input,
                "verdict": o.verdict,
                "skipped": o.skipped,
                "comparisons": list(o.comparisons),
                "statements": list(o.statements),
                "warnings": list(o.notices),
                "figures": sorted(o.figures),
            }
            for o in outcomes
        ],
    }
