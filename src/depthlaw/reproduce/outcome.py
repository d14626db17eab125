"""What an experiment gives back: numbers beside the published ones, figures, and what to say about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from depthlaw.reproduce.paper import Published


class Verdict(StrEnum):
    """How a number of ours stands to the published one."""

    PASS = "pass"
    DIFFERS = "differs"
    NOT_COMPARABLE = "not comparable"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Comparison:
    """One number beside the published one.

    Attributes
    ----------
    difference
        In standard errors: the published one, else ours; relative where neither is known; ``None`` if not
        comparable.
    digits
        Leading decimal digits in which the two agree.
    """

    quantity: str
    published: float | None
    published_error: float | None
    ours: float | None
    error: float | None
    difference: float | None
    digits: int | None
    verdict: Verdict
    note: str = ""


def compare(
    quantity: str, theirs: Published, ours: float | None, error: float | None = None, *, note: str = ""
) -> Comparison:
    """Hold our value against a published one; the tolerance is the published number's own."""
    if ours is None:
        return Comparison(
            quantity, theirs.value, theirs.error, None, error, None, None, Verdict.NOT_COMPARABLE, note
        )
    difference = (ours - theirs.value) / (theirs.error or error or abs(theirs.value))
    verdict = Verdict.PASS if abs(difference) <= theirs.tolerance else Verdict.DIFFERS
    digits = matching_digits(ours, theirs.value)
    return Comparison(quantity, theirs.value, theirs.error, ours, error, difference, digits, verdict, note)


def matching_digits(a: float, b: float) -> int:
    """Leading decimal digits in which two numbers agree: −log10 of the relative difference, at most 16."""
    if a == b:
        return 16
    scale = max(abs(a), abs(b))
    return max(0, min(16, math.floor(-math.log10(abs(a - b) / scale))))


@dataclass(frozen=True)
class Outcome:
    """The result of one experiment.

    Attributes
    ----------
    id, title
        Which experiment.
    input
        What it ran on, in words.
    comparisons
        Our numbers beside the published ones.
    statements
        What else was found, one sentence each.
    figures
        File name without ending → files by name (see `depthlaw.plots.style.rendered`).
    tables
        File name → pyarrow table and its units.
    """

    id: str
    title: str
    input: str
    comparisons: tuple[Comparison, ...] = ()
    statements: tuple[str, ...] = ()
    figures: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    tables: Mapping[str, tuple[Any, Mapping[str, str]]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of its comparisons."""
        if self.skipped:
            return Verdict.SKIPPED
        found = {c.verdict for c in self.comparisons}
        order = (Verdict.DIFFERS, Verdict.PASS)
        return next((v for v in order if v in found), Verdict.NOT_COMPARABLE)
