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
    FAILED = "failed"


@dataclass(frozen=True)
class Comparison:
    """One number beside the published one.

    Attributes
    ----------
    difference
        In standard errors: the published one, else ours; relative where neither is known; ``None`` if not
        comparable.
    digits
        Decimal digits in which the two agree, see `matching_digits`.
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
    quantity: str,
    theirs: Published,
    ours: float | None,
    error: float | None = None,
    *,
    note: str = "",
    comparable: bool = True,
) -> Comparison:
    """Hold our value against a published one; the tolerance is the published number's own.

    Parameters
    ----------
    comparable
        Whether ours is of the same thing; if not, both are shown and not judged.
    note
        What to say beside it; by default what is said of the published number.
    """
    note = note or theirs.note
    if ours is None or not comparable:
        return Comparison(
            quantity, theirs.value, theirs.error, ours, error, None, None, Verdict.NOT_COMPARABLE, note
        )
    difference = (ours - theirs.value) / (theirs.error or error or abs(theirs.value))
    verdict = Verdict.PASS if abs(difference) <= theirs.tolerance else Verdict.DIFFERS
    digits = matching_digits(ours, theirs.value)
    return Comparison(quantity, theirs.value, theirs.error, ours, error, difference, digits, verdict, note)


def matching_digits(a: float, b: float) -> int:
    """Digits in which two numbers agree: −log10 of the relative difference, rounded down, at most 16."""
    if a == b:
        return 16
    scale = max(abs(a), abs(b))
    return max(0, min(16, math.floor(-math.log10(abs(a - b) / scale))))


@dataclass(frozen=True)
class Correction:
    """A known defect of the published method, with the number it gives and the corrected one.

    Attributes
    ----------
    defect
        What the reference does, and what we do instead; one sentence.
    reference, corrected
        The same quantity by its way and by ours; ``None`` where this input cannot show it.
    unit
        Of both, ``"1"`` for a pure number.
    """

    defect: str
    reference: float | None
    corrected: float | None
    unit: str = "1"


@dataclass(frozen=True)
class OutcomeFigure:
    """A figure and what a reader needs beside it.

    Attributes
    ----------
    files
        Bytes by file name (see `depthlaw.plots.style.rendered`).
    caption
        What is seen, in plain words: what the axes are, what to look at.
    data
        Names of the outcome's tables that are drawn.
    """

    files: Mapping[str, bytes]
    caption: str
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class OutcomeTable:
    """A table of an experiment.

    Attributes
    ----------
    rows
        A pyarrow table.
    units
        Unit of every column, ``"1"`` for a pure number.
    redistribute
        Whether the rows may be passed on; those of a source without a licence may not.
    """

    rows: Any
    units: Mapping[str, str]
    redistribute: bool = True


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
    reference
        What stands in the place of the published numbers where they are not the paper's, one sentence; empty
        where they are.
    corrections
        Known defects of the published method, each with both numbers.
    statements
        What else was found, one sentence each.
    figures
        By file name without ending.
    tables
        By file name, which ends in ``.parquet``.
    notices
        Warnings, one sentence each.
    skipped
        Why it did not run, in words; empty if it ran.
    failed
        The error that ended it; empty if none did.
    """

    id: str
    title: str
    input: str
    comparisons: tuple[Comparison, ...] = ()
    reference: str = ""
    corrections: tuple[Correction, ...] = ()
    statements: tuple[str, ...] = ()
    figures: Mapping[str, OutcomeFigure] = field(default_factory=dict)
    tables: Mapping[str, OutcomeTable] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    skipped: str = ""
    failed: str = ""

    @property
    def said(self) -> tuple[str, ...]:
        """All that is to be said of the numbers: what they are held against first."""
        return (self.reference, *self.statements) if self.reference else self.statements

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of its comparisons."""
        if self.failed:
            return Verdict.FAILED
        if self.skipped:
            return Verdict.SKIPPED
        found = {c.verdict for c in self.comparisons}
        order = (Verdict.DIFFERS, Verdict.PASS)
        return next((v for v in order if v in found), Verdict.NOT_COMPARABLE)
