"""How much of a text to read: ``800 documents``, ``50k tokens``; and how little is too little."""

from __future__ import annotations

import re
from dataclasses import dataclass

from depthlaw.errors import Notice, UsageError

LEAST_TOKENS = 100
"""Tokens below which a text is too little for statements about a model; numbers are still given."""

_FORM = re.compile(r"(\d+(?:[.,_]\d+)*)\s*([kmb]?)\s*([a-z]*)")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_UNITS = {"": "documents", "d": "documents", "doc": "documents", "t": "tokens", "tok": "tokens"}


@dataclass(frozen=True)
class Limit:
    """Reading stops where one of the two is reached.

    Attributes
    ----------
    documents
        Documents with text, after which no other is begun; ``None`` for all.
    tokens
        Tokens that a model sees, special ones included, after which no other document is begun (packed:
        after which the text ends); ``None`` for all.
    """

    documents: int | None = None
    tokens: int | None = None

    def reached(self, documents: int, tokens: int) -> bool:
        """Whether so many are enough."""
        enough = self.documents is not None and documents >= self.documents
        return enough or (self.tokens is not None and tokens >= self.tokens)


def parse_limit(text: str) -> Limit:
    """Read a limit as people write it; a bare number means documents.

    Raises
    ------
    UsageError
        When it is not a whole positive number of documents or tokens.

    >>> parse_limit("50k tokens")
    Limit(documents=None, tokens=50000)
    """
    wrong = UsageError(f'limit "{text}" not understood.', 'Write "800", "800 documents" or "50k tokens".')
    match = _FORM.fullmatch(text.strip().casefold())
    if match is None:
        raise wrong
    number, factor, word = match.groups()
    unit = _UNITS.get(word.removesuffix("s"), word if word.endswith("s") else word + "s")
    try:
        # Thousands may be parted by commas or underscores, as people copy them.
        count = float(number.replace(",", "").replace("_", "")) * _FACTORS[factor]
    except ValueError:
        raise wrong from None
    if unit not in ("documents", "tokens") or count < 1 or count != int(count):
        raise wrong
    return Limit(**{unit: int(count)})


def read_more(limit: Limit | None, tokens: int) -> tuple[Notice, ...]:
    """Say so where documents, which are read whole, held a tenth more tokens than the limit."""
    if limit is None or limit.tokens is None or tokens <= 1.1 * limit.tokens:
        return ()
    said = f"{tokens} tokens were read for a limit of {limit.tokens}: documents are read whole."
    return (Notice("limit", said),)
