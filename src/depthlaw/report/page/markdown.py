"""The claim table as Markdown, for a pull request or a README."""

from __future__ import annotations

import re

from depthlaw.report.outcomes import both_numbers
from depthlaw.report.page.claims import claim_groups, references
from depthlaw.report.page.model import Report
from depthlaw.report.page.payload import MADE_BY
from depthlaw.report.page.sentences import lead, title
from depthlaw.report.text import markdown

HEAD = ["experiment", "number", "published", "ours", "difference", "verdict", "note"]


def report_markdown(report: Report) -> str:
    """What stands first on the page: two sentences, warnings, the claim table, known defects.

    Text from run folders is kept from being read as HTML.
    """
    groups = claim_groups(report)
    parts = [f"<!-- {MADE_BY} -->\n# {_plain(title(report))}\n", f"{_plain(' '.join(lead(report)))}\n"]
    if report.warnings:
        warnings = [f"- **{_plain(', '.join(w.about))}** {_plain(w.message)}\n" for w in report.warnings]
        parts.append("## Warnings\n\n" + "".join(warnings))
    if groups:
        several = len(report.scales) > 1
        rows = [
            [
                f"{group.experiment} {group.scale}" if several and group.scale else group.experiment,
                claim.number,
                claim.published,
                claim.ours,
                claim.difference,
                claim.verdict,
                claim.note,
            ]
            for group in groups
            for claim in group.claims
        ]
        parts.append("## Claims\n\n" + markdown([[_plain(cell) for cell in row] for row in rows], HEAD))
        parts += [f"{_plain(reference)}\n" for reference in references(groups)]
    defects = [
        [section.experiment, *both_numbers(correction), correction.defect]
        for section in report.experiments
        if section.outcome
        for correction in section.outcome.corrections
    ]
    if defects:
        head = ["experiment", "their way", "corrected", "known defect of the published method"]
        rows = [[_plain(cell) for cell in row] for row in defects]
        parts.append("## Known defects of the published method\n\n" + markdown(rows, head))
    if report.runs:
        rows = [[_plain(s.manifest.verb), _plain(s.place), s.manifest.status] for s in report.runs]
        parts.append("## Runs\n\n" + markdown(rows, ["command", "folder", "status"]))
    return "\n".join(parts)


def _plain(text: str) -> str:
    """Keep a text on one line, and what looks like HTML from being some."""
    return re.sub(r"[<\\]", r"\\\g<0>", " ".join(text.split()))
