"""Rows of text data → records: which column is the text, which the id, and what cannot be text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from depthlaw.errors import InputError, did_you_mean

TEXT_COLUMNS = ("text", "content", "document", "raw_content", "body", "story", "article")
"""Recognised names of the text column, the most likely first."""

ID_COLUMNS = ("id", "doc_id", "document_id", "uuid", "_id")
"""Recognised names of a column with the documents' own ids."""


@dataclass(frozen=True)
class Record:
    """A document's id and text, before it is counted."""

    id: str
    text: str


@dataclass(frozen=True)
class Document:
    """One text of a source.

    Attributes
    ----------
    index
        How many documents of the source come before it, empty ones included.
    id
        The data set's own id, or ``file:line`` (lines and rows counted from 1), or the file's name.
    text
        Its text, not cut; may be empty.
    """

    index: int
    id: str
    text: str


@dataclass(frozen=True)
class RecordReader:
    """Takes text and id out of rows.

    Attributes
    ----------
    text_column
        The column that the user named; ``None`` to recognise it.
    """

    text_column: str | None = None

    def columns(self, names: Iterable[str], where: str) -> tuple[str, str | None]:
        """Choose the text column and the id column (``None``: there is none) among ``names``.

        Raises
        ------
        InputError
            The named column is not there, or none is recognised.
        """
        have = list(names)
        listing = ", ".join(have[:12]) + (", …" if len(have) > 12 else "")
        folded = {name.strip().casefold(): name for name in reversed(have)}
        own_id = next((folded[name] for name in ID_COLUMNS if name in folded), None)
        if self.text_column is not None:
            if self.text_column in have:
                return self.text_column, own_id
            near = did_you_mean(self.text_column, have)
            raise InputError(
                f'{where}: text column "{self.text_column}" not found (have: {listing}).',
                f"Did you mean --text-column {near}?" if near else None,
            )
        text = next((folded[name] for name in TEXT_COLUMNS if name in folded), None)
        if text is None and len(have) == 1:
            text = have[0]
        if text is None:
            raise InputError(
                f"{where}: which column is the text? (have: {listing or 'none'})",
                "Name it: --text-column NAME.",
            )
        return text, own_id

    def record(self, row: Mapping[str, Any], columns: tuple[str, str | None], where: str) -> Record:
        """Take one document out of a row.

        Parameters
        ----------
        where
            ``file:line``, for errors, and the id of documents that have none of their own.

        Raises
        ------
        InputError
            The text column is missing in this row or holds something else than text or null.
        """
        text_column, id_column = columns
        if text_column not in row:
            raise InputError(f'{where}: no "{text_column}" here, which other rows have as their text.')
        text = row[text_column]
        if text is not None and not isinstance(text, str):
            raise InputError(
                f'{where}: "{text_column}" is {type(text).__name__}, not text.',
                "Name the column that is: --text-column NAME.",
            )
        own = None if id_column is None else row.get(id_column)
        # True is an int to Python, not an id to anyone.
        known = isinstance(own, str | int) and not isinstance(own, bool) and own != ""
        return Record(str(own) if known else where, whole_characters(text or ""))


def whole_characters(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can spell and no tokenizer takes, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def number(records: Iterator[Record], skip: int) -> Iterator[Document]:
    """Count records into documents and leave out the first ``skip``."""
    for index, record in islice(enumerate(records), skip, None):
        yield Document(index, record.id, record.text)
