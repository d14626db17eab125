"""The claim table: every number beside the published one, and what could not be compared, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from depthlaw.report.outcomes import difference_text, in_errors, with_error
from depthlaw.report.page.model import Report, Section
from depthlaw.report.page.words import words
from depthlaw.report.text import NONE
from depthlaw.reproduce.outcome import Comparison, Verdict

NOT_RUN = "not run"
"""Stands where a verdict would, for an experiment that is not there or did not come to its end."""

VERDICTS = (*(str(verdict) for verdict in Verdict), NOT_RUN)
"""In the order in which they are counted."""


@dataclass(frozen=True)
class Claim:
    """A row of the claim table: a number, or an experiment that has none to compare.

    Attributes
    ----------
    experiment, scale
        Which, and how much of it was run (empty where it was not).
    comparison
        The number beside the published one; ``None`` for an experiment without any.
    verdict
        One of `VERDICTS`.
    note
        The reason, or what else there is to say.
    """

    experiment: str
    scale: str
    comparison: Comparison | None
    verdict: str
    note: str = ""

    @property
    def number(self) -> str:
        """What is compared, in words; empty for an experiment without numbers."""
        return words(self.comparison.quantity) if self.comparison else ""

    @property
    def published(self) -> str:
        """The published value with its error, as text."""
        c = self.comparison
        return with_error(c.published, c.published_error) if c else NONE

    @property
    def ours(self) -> str:
        """Our value with its error, as text."""
        return with_error(self.comparison.ours, self.comparison.error) if self.comparison else NONE

    @property
    def difference(self) -> str:
        """The difference with its unit, as text."""
        return difference_text(self.comparison) if self.comparison else NONE

    @property
    def difference_unit(self) -> str | None:
        """``s.e.`` or ``relative``; ``None`` where nothing is compared."""
        c = self.comparison
        return None if c is None or c.difference is None else "s.e." if in_errors(c) else "relative"


@dataclass(frozen=True)
class Group:
    """The claims of one experiment.

    Attributes
    ----------
    experiment, scale, title
        Which, how much of it was run, and what it is about.
    anchor
        Its section; empty where it was not run.
    input
        What it ran on; empty where it was not run.
    reference
        What stands in the place of the published numbers, if they are not the paper's.
    """

    experiment: str
    scale: str
    title: str
    anchor: str
    input: str
    reference: str
    claims: tuple[Claim, ...]


def claim_groups(report: Report) -> tuple[Group, ...]:
    """The claim table, experiment by experiment; empty where no experiment was run."""
    there = [_group(section) for section in report.experiments]
    absent = [
        Group(e.id, "", e.title, "", "", "", (Claim(e.id, "", None, NOT_RUN, "not in this folder"),))
        for e in report.not_run
    ]
    return (*there, *absent)


def counts(groups: tuple[Group, ...]) -> dict[str, int]:
    """How many claims have each verdict, in the order of `VERDICTS`, zeros too."""
    verdicts = [claim.verdict for group in groups for claim in group.claims]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def references(groups: tuple[Group, ...]) -> tuple[str, ...]:
    """What stands in the place of the paper's numbers in the table, each sentence once."""
    compared = (group for group in groups if any(claim.comparison for claim in group.claims))
    return tuple(dict.fromkeys(group.reference for group in compared if group.reference))


def _group(section: Section) -> Group:
    outcome = section.outcome
    return Group(
        section.experiment,
        section.scale,
        section.title,
        section.anchor,
        outcome.input if outcome else "",
        outcome.reference if outcome else "",
        tuple(_claims(section)),
    )


def _claims(section: Section) -> Iterator[Claim]:
    outcome, who = section.outcome, (section.experiment, section.scale)
    if outcome is None:
        unfinished = section.manifest.status in ("running", "interrupted")
        yield Claim(*who, None, NOT_RUN if unfinished else Verdict.FAILED.value, section.problem)
    elif outcome.comparisons and not (outcome.failed or outcome.skipped):
        for c in outcome.comparisons:
            yield Claim(*who, c, c.verdict.value, c.note)
    else:
        why = outcome.failed or outcome.skipped or "no number that this input and scale could show"
        yield Claim(*who, None, outcome.verdict.value, why)
