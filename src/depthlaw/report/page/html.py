"""A report as one HTML page that needs nothing else: no script, no network."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

from depthlaw.report.outcomes import both_numbers
from depthlaw.report.page.claims import claim_groups, counts, references
from depthlaw.report.page.model import Report
from depthlaw.report.page.sentences import lead, title
from depthlaw.report.page.typesetting import maths, typeset
from depthlaw.report.page.view import Room, environments, sections

if TYPE_CHECKING:
    from jinja2 import Environment

LIMIT = 5_000_000
"""Bytes of the page, at most; where there is more, data and figures are left out and said to be."""

_MARGIN = 50_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SIGNS = {
    "pass": "✓",
    "differs": "≠",
    "not comparable": "○",
    "skipped": "–",
    "failed": "✗",
    "not run": "·",
}
"""What stands before each verdict, besides its word and its colour."""


def report_html(report: Report) -> bytes:
    """Write the page.

    Returns
    -------
    bytes
        UTF-8, the same for the same report, below `LIMIT` unless the claims and headings alone are longer.
    """
    bare = len(_rendered(report, Room(0)))
    return _rendered(report, Room(max(0, LIMIT - bare - _MARGIN)))


def _rendered(report: Report, room: Room) -> bytes:
    groups = claim_groups(report)
    page = _environment().get_template("page.html.jinja")
    text = page.render(
        report=report,
        title=title(report),
        lead=lead(report),
        groups=groups,
        counts=counts(groups),
        references=references(groups),
        sections=sections(report, room),
        environments=environments(report),
        signs=SIGNS,
    )
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).encode("utf-8", "replace")


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"maths": maths, "typeset": typeset, "both": both_numbers}
    environment.globals["css"] = _file("page.css")
    return environment


def _file(name: str) -> str:
    return files("depthlaw.report.page").joinpath(name).read_text(encoding="utf-8")
