"""A report as one HTML page that needs nothing else: no script, no network."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

from depthlaw.report.outcomes import both_numbers
from depthlaw.report.page.claims import claim_groups, counts, references
from depthlaw.report.page.model import Report
from depthlaw.report.page.sentences import lead, title
from depthlaw.report.page.view import Room, environments, sections

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

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
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("depthlaw.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "maths": maths,
        "typeset": typeset,
        "printed": printed,
        "both": both_numbers,
    }
    environment.globals["css"] = (
        files("depthlaw.report.page").joinpath("page.css").read_text(encoding="utf-8")
    )
    return environment


def maths(text: str) -> Markup:
    """Escape a text; names of parameters become symbols (``alpha_depth``: α with an index), flags code."""
    from markupsafe import Markup, escape

    def symbol(found: re.Match[str]) -> str:
        letter = "α" if found[1] in ("alpha", "α") else found[1]
        return f"{letter}<sub>{found[2].replace('_', ' ')}</sub>"

    whole = re.sub(r"\b(alpha|α|c(?=_(?:width|depth|tokens)\b))_(\w+)", symbol, str(escape(text)))
    whole = re.sub(r"\b[a-z]+(?:_[a-z0-9]+)+(?= = )", lambda found: found[0].replace("_", " "), whole)
    return Markup(re.sub(r"(?<![\w-])--[a-z][a-z-]*", r'<code class="flag">\g<0></code>', whole))


def typeset(text: str) -> Markup:
    """Escape a number that `depthlaw.report.text` wrote, with a true minus and powers of ten set as such."""
    from markupsafe import Markup, escape

    whole = re.sub(r"(?<=\d)e(-?\d+)", r" × 10<sup>\1</sup>", str(escape(text)))
    return Markup(re.sub(r"(?<![\w.])-(?=\d)|(?<=<sup>)-", "−", whole))


def printed(text: str) -> Markup:
    """Escape what a command printed; lines that are no table may be broken where the page ends."""
    from markupsafe import Markup, escape

    lines = []
    for line in str(escape(text)).splitlines():
        prose = line and "  " not in line and not re.fullmatch(r"[\s-]*", line)
        # A block ends its own line; a newline behind it would be an empty one.
        lines.append(f'<span class="prose">{line}\n</span>' if prose else f"{line}\n")
    return Markup("".join(lines))
