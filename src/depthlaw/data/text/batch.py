"""One batch of rows for a model, which document every token is of, and where reading stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.text.tokens import TokenReader, Tokens

Piece = tuple[Tokens, int, int]
"""Tokens begin … end − 1 of a document."""


@dataclass(frozen=True)
class Position:
    """What of a source has been given out; six whole numbers, to be kept with results.

    Attributes
    ----------
    documents
        Documents done with, empty ones included (the window being given out counts only when it is through).
    empty
        How many of them had no text.
    cut
        How many of them were longer than ``max_length``.
    tokens
        Their tokens that went into batches (packed: also of the document that is under way).
    batches
        Batches given out of the window behind ``documents``.
    offset
        Tokens given out of the document behind ``documents`` (packed only).
    """

    documents: int = 0
    empty: int = 0
    cut: int = 0
    tokens: int = 0
    batches: int = 0
    offset: int = 0

    @property
    def kept(self) -> int:
        """Documents done with that had text."""
        return self.documents - self.empty

    def past(self, item: Tokens, tokens: int = 0) -> Position:
        """The position behind ``item``, with ``tokens`` more given out."""
        return replace(
            self,
            documents=self.documents + 1,
            empty=self.empty + (len(item.input_ids) == 0),
            cut=self.cut + (item.n_full > len(item.input_ids)),
            tokens=self.tokens + tokens,
            offset=0,
        )


@dataclass(frozen=True)
class Batch:
    """Rows of tokens, padded to the longest row.

    Attributes
    ----------
    input_ids
        (rows, width) int64; padded places hold an id that means nothing.
    attention_mask
        (rows, width) int64, 1 at real tokens. It tells padding, ids never do: a model whose marks for
        beginning, end and padding are one id has them as real tokens too.
    document
        (rows, width) int64 index of the token's document in the source, −1 at padding.
    position
        (rows, width) int64 place of the token in its document from 0, −1 at padding. With packed rows this
        is not the place that the model sees, which is the column.
    is_first
        (rows, width) bool, the first token of a document.
    is_special
        (rows, width) bool, a control token such as BOS.
    documents
        Ids of the documents in this batch by their index.
    after
        Where reading stands behind this batch.
    """

    input_ids: NDArray[np.int64]
    attention_mask: NDArray[np.int64]
    document: NDArray[np.int64]
    position: NDArray[np.int64]
    is_first: NDArray[np.bool_]
    is_special: NDArray[np.bool_]
    documents: dict[int, str]
    after: Position

    @property
    def n_tokens(self) -> int:
        """Real tokens."""
        return int(self.attention_mask.sum())

    @cached_property
    def has_successor(self) -> NDArray[np.bool_]:
        """(rows, width) bool, tokens that count: real, and so is the next one of the same document."""
        real = self.attention_mask.astype(bool)
        counts = np.zeros_like(real)
        counts[:, :-1] = real[:, :-1] & real[:, 1:] & (self.document[:, :-1] == self.document[:, 1:])
        return counts

    def rows(self, begin: int, end: int) -> Batch:
        """Rows ``begin`` … ``end − 1`` and the columns they need; ``after`` stays."""
        used = np.flatnonzero(self.attention_mask[begin:end].any(axis=0))
        part = (slice(begin, end), slice(used[0], used[-1] + 1))
        arrays: dict[str, Any] = {
            name: getattr(self, name)[part]
            for name in ("input_ids", "attention_mask", "document", "position", "is_first", "is_special")
        }
        there = [index for index in np.unique(arrays["document"]).tolist() if index >= 0]
        return replace(self, **arrays, documents={index: self.documents[index] for index in there})


def from_pieces(
    rows: Sequence[Sequence[Piece]],
    after: Position,
    reader: TokenReader,
    padding_side: Literal["right", "left"],
) -> Batch:
    """Lay pieces of documents out in rows; a row holds at least one token."""
    lengths = [sum(end - begin for _, begin, end in row) for row in rows]
    shape = (len(rows), max(lengths))
    input_ids = np.full(shape, reader.pad_id, dtype=np.int64)
    document = np.full(shape, -1, dtype=np.int64)
    position = np.full(shape, -1, dtype=np.int64)
    for number, row in enumerate(rows):
        column = shape[1] - lengths[number] if padding_side == "left" else 0
        for item, begin, end in row:
            place = (number, slice(column, column + end - begin))
            input_ids[place] = item.input_ids[begin:end]
            document[place] = item.index
            position[place] = np.arange(begin, end)
            column += end - begin
    real = document >= 0
    return Batch(
        input_ids=input_ids,
        attention_mask=real.astype(np.int64),
        document=document,
        position=position,
        is_first=position == 0,
        is_special=real & np.isin(input_ids, reader.special_ids),
        documents={item.index: item.id for row in rows for item, _, _ in row},
        after=after,
    )
