"""What a page says first: what it is, and how the claims stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from depthlaw.plurals import counted
from depthlaw.report.page.claims import claim_groups, counts
from depthlaw.report.page.model import Report

PAPER = "Inverse Depth Scaling From Most Layers Being Similar"

_SCALES = {
    "smoke": "smoke scale, which takes seconds and shows that everything runs",
    "small": "small scale, which takes minutes and shortens the protocols",
    "paper": "the paper's own scale",
}
_VERDICTS = {
    "pass": ("passes", "pass"),
    "differs": ("differs", "differ"),
    "not comparable": ("is not comparable", "are not comparable"),
    "skipped": ("was skipped", "were skipped"),
    "failed": ("failed", "failed"),
    "not run": ("was not run", "were not run"),
}


def title(report: Report) -> str:
    """The heading of the page."""
    return "Inverse depth scaling, side by side" if report.experiments else f"Runs in {report.name}"


def lead(report: Report) -> tuple[str, ...]:
    """Two sentences: what the page is, and how the claims stand; for runs alone, how many there are."""
    if not report.sections:
        return ("No run here can be read.", _troubles(report))
    if not report.experiments:
        each = "each " if len(report.runs) > 1 else ""
        return (f"{_runs(report)}, {each}with the text, figures and data that it kept.", _troubles(report))
    found = counts(claim_groups(report))
    total = sum(found.values())
    standing = [
        f"{number} {_VERDICTS[verdict][number != 1]}"
        for verdict, number in found.items()
        if number or verdict in ("pass", "differs")
    ]
    scales = report.scales
    at = _SCALES.get(scales[0], f"scale {scales[0]}") if len(scales) == 1 else f"scales {_listed(scales)}"
    return (
        f"The numbers and figures of “{PAPER}” (Liu, Kangaslahti, Liu and Gore, 2026), computed anew by "
        "depthlaw, each published number beside ours.",
        f"At {at}, of {total} claims {_listed(standing)}.",
    )


def _runs(report: Report) -> str:
    verbs = Counter(section.manifest.verb for section in report.runs)
    each = [f"{number} × {verb}" if number > 1 else verb for verb, number in sorted(verbs.items())]
    return f"{counted(len(report.runs), 'run')} of depthlaw ({_listed(each)})"


def _troubles(report: Report) -> str:
    places = {place for warn in report.warnings if warn.kind == "trouble" for place in warn.about}
    if not places:
        return "All of them came to their end." if len(report.runs) > 1 else "It came to its end."
    need = "needs" if len(places) == 1 else "need"
    return f"{counted(len(places), 'folder')} {need} a look: see the warnings."


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
