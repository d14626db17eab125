"""A unit in a header: ``params (B)``, ``tokens_M``, ``tokens [billions]``, ``val loss (nats)``."""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORDS: Mapping[float, tuple[str, ...]] = {
    1e3: ("k", "thousand", "thousands"),
    1e6: ("m", "mn", "mio", "million", "millions"),
    1e9: ("b", "bn", "g", "billion", "billions"),
    1e12: ("t", "tn", "trillion", "trillions"),
}
_FACTORS = {word: factor for factor, words in _WORDS.items() for word in words}
_SAME = (  # what a bracket may say without changing a number
    *("tokens", "parameters", "params", "flop", "flops", "units", "blocks", "layers"),
    *("nats", "nat", "nats per token", "nats/token"),
)
_BRACKET = re.compile(r"(.*\S)\s*[(\[]([^()\[\]]+)[)\]]")
_TAIL = re.compile(r"(.*[^\s\-./:_])[\s\-./:_]+([A-Za-z]+)")
_POWER = re.compile(r"(?:1e|10\^|10\*\*)\+?(\d{1,2})")


def split_unit(header: str) -> tuple[str, float]:
    """Return a header without its unit, and what its numbers are multiples of.

    >>> split_unit("tokens_B"), split_unit("params (in millions)"), split_unit("val loss (nats)")
    (('tokens', 1000000000.0), ('params', 1000000.0), ('val loss', 1.0))
    """
    header = header.strip()
    if found := _BRACKET.fullmatch(header):
        words = found[2].strip().casefold()
        if words in _SAME:
            return found[1], 1.0
        words = words.removeprefix("in ").removeprefix("×").removeprefix("x ").strip()
        first, _, rest = words.partition(" ")
        if rest.removeprefix("of ") in ("", *_SAME):
            if power := _POWER.fullmatch(first):
                return found[1], 10.0 ** int(power[1])
            if first in _FACTORS:
                return found[1], _FACTORS[first]
    elif (found := _TAIL.fullmatch(header)) and not (len(found[2]) == 1 and found[2].islower()):
        factor = _FACTORS.get(found[2].casefold(), 1.0)  # params_b may be the second of several
        return (header, 1.0) if factor == 1.0 else (found[1], factor)
    return header, 1.0


def is_logarithm(header: str) -> bool:
    """Say whether a header names the logarithm of something: ``log10_tokens``, ``ln(N)``."""
    return re.search(r"(?i)(^|[^a-z])(log|log2|log10|ln|lg)([^a-z]|$)", header) is not None
