"""Text as HTML: escaped, with symbols, numbers and tables as a reader likes them."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def maths(text: str) -> Markup:
    """Escape a text; names of parameters become symbols (``alpha_depth``: α with an index), flags code."""

    def symbol(found: re.Match[str]) -> str:
        letter = "α" if found[1] in ("alpha", "α") else found[1]
        return f"{letter}<sub>{found[2].replace('_', ' ')}</sub>"

    whole = re.sub(r"\b(alpha|α|c(?=_(?:width|depth|tokens)\b))_(\w+)", symbol, str(escape(text)))
    whole = re.sub(r"\b[a-z]+(?:_[a-z0-9]+)+(?= = )", lambda found: found[0].replace("_", " "), whole)
    return Markup(re.sub(r"(?<![\w-])--[a-z][a-z-]*", r'<code class="flag">\g<0></code>', whole))


def typeset(text: str) -> Markup:
    """Escape a number that `depthlaw.report.text` wrote, with a true minus and powers of ten set as such."""
    whole = re.sub(r"(?<=\d)e(-?\d+)", r" × 10<sup>\1</sup>", str(escape(text)))
    return Markup(re.sub(r"(?<![\w.])-(?=\d)|(?<=<sup>)-", "−", whole))


def printed(text: str) -> Markup:
    """Escape what a command printed; lines that are no table may be broken where the page ends."""
    lines = []
    for line in str(escape(text)).splitlines():
        prose = line and "  " not in line and not re.fullmatch(r"[\s-]*", line)
        # A block ends its own line; a newline behind it would be an empty one.
        lines.append(f'<span class="prose">{line}\n</span>' if prose else f"{line}\n")
    return Markup("".join(lines))
