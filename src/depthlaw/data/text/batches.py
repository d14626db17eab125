"""Tokens → batches of rows for a model, in one order, from any position in it.

``documents``, as in the paper: one document a row, cut at ``max_length``. Documents are taken in windows;
inside a window the longest come first, so that rows of a batch have nearly the same length.

``packed``: documents one behind the other in full rows. A token then attends to the documents before its
own in the row, and to nothing of its own before the row: states differ from those of the document alone,
and attention sinks sit at the beginnings of rows (column 0), not of documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from depthlaw.data.text.batch import Batch, Piece, Position, from_pieces
from depthlaw.data.text.limit import Limit
from depthlaw.data.text.retry import Retry
from depthlaw.data.text.source import TextSource
from depthlaw.data.text.tokens import Bos, Tokenizer, TokenReader, Tokens

_CHUNK = 64  # documents tokenised at once when packing

Step = tuple[list[list[Piece]], Position] | Position
"""Rows and where reading stands behind them, or the latter alone at the end."""


@dataclass(frozen=True)
class Batching:
    """How text becomes batches; all of it changes results or their order.

    Attributes
    ----------
    kind
        ``documents`` or ``packed``, see the module.
    batch_size
        Rows of a batch; the last one of a window may have fewer.
    max_length
        Columns at most, in tokens.
    window
        Documents sorted together, in batches; only for ``documents``.
    bos
        Mark at the beginning of a document, see `TokenReader`.
    padding_side
        Where short rows are filled up.
    """

    kind: Literal["documents", "packed"] = "documents"
    batch_size: int = 8
    max_length: int = 1024
    window: int = 16
    bos: Bos = "auto"
    padding_side: Literal["right", "left"] = "right"


class Batches(Iterator[Batch]):
    """Batches of a source, in order; made by `read_batches`.

    Attributes
    ----------
    position
        Behind the last batch that was given; after the last one, what was read in all.
    """

    def __init__(self, batches: Iterator[Batch | Position], start: Position) -> None:
        self._batches = batches
        self.position = start

    def __next__(self) -> Batch:
        for item in self._batches:
            if isinstance(item, Batch):
                self.position = item.after
                return item
            self.position = item
        raise StopIteration


def read_batches(
    source: TextSource,
    tokenizer: Tokenizer,
    batching: Batching = Batching(),
    *,
    limit: Limit | None = None,
    start: Position | None = None,
    retry: Retry | None = None,
) -> Batches:
    """Read a source as batches.

    Parameters
    ----------
    tokenizer
        A Hugging Face tokenizer, or what behaves like one.
    limit
        How much of the source; ``None`` for all.
    start
        The ``after`` of the last batch that was done with, to continue behind it with the same arguments;
        ``None`` for the beginning.
    retry
        Patience with passing failures; ``None`` for the default.

    Raises
    ------
    InputError
        While iterating: as ``source.documents``, or the tokenizer lacks a mark that ``bos`` asks for.
    """
    start, limit = start or Position(), limit or Limit()
    documents = (retry or Retry()).documents(source, start.documents)
    packed = batching.kind == "packed"
    reader = TokenReader(tokenizer, None if packed else batching.max_length, batching.bos, separator=packed)
    # Tokenised many at once: fast tokenizers spread a list over the cores.
    chunk = _CHUNK if packed else batching.batch_size * batching.window
    tokens = (item for part in iter(lambda: list(islice(documents, chunk)), []) for item in reader.read(part))
    rows = _packed_batches if packed else _document_batches
    return Batches(
        (
            step if isinstance(step, Position) else from_pieces(*step, reader, batching.padding_side)
            for step in rows(tokens, batching, limit, start)
        ),
        start,
    )


def _document_batches(
    tokens: Iterator[Tokens], batching: Batching, limit: Limit, start: Position
) -> Iterator[Step]:
    size, given = batching.batch_size, start.batches
    before = replace(start, batches=0)
    while True:
        behind = before
        window: list[Tokens] = []
        while len(window) < size * batching.window and not limit.reached(behind.kept, behind.tokens):
            if (item := next(tokens, None)) is None:
                break
            behind = behind.past(item, len(item.input_ids))
            if len(item.input_ids):
                window.append(item)
        # The longest first, so that what does not fit into memory shows at once.
        window.sort(key=lambda item: -len(item.input_ids))
        for first in range(given * size, len(window), size):
            rows = [[(item, 0, len(item.input_ids))] for item in window[first : first + size]]
            last = first + size >= len(window)
            yield rows, behind if last else replace(before, batches=first // size + 1)
        if not window:
            yield behind
            return
        before, given = behind, 0


def _packed_batches(
    tokens: Iterator[Tokens], batching: Batching, limit: Limit, start: Position
) -> Iterator[Step]:
    rows: list[list[Piece]] = []
    after = start
    for step in _packed_rows(tokens, batching.max_length, limit, start):
        if isinstance(step, Position):
            after = step
            continue
        row, after = step
        rows.append(row)
        if len(rows) == batching.batch_size:
            yield rows, after
            rows = []
    if rows:
        yield rows, after
    yield after


def _packed_rows(
    tokens: Iterator[Tokens], width: int, limit: Limit, start: Position
) -> Iterator[tuple[list[Piece], Position] | Position]:
    row: list[Piece] = []
    free, here = width, start
    while not limit.reached(here.kept, here.tokens) and (item := next(tokens, None)) is not None:
        begin, end = here.offset, len(item.input_ids)
        if limit.tokens is not None:
            end = min(end, begin + limit.tokens - here.tokens)
        while begin < end:
            taken = min(end - begin, free)
            row.append((item, begin, begin + taken))
            begin, free = begin + taken, free - taken
            here = replace(here, tokens=here.tokens + taken, offset=begin)
            if free == 0:
                yield row, here.past(item) if begin == end else here
                row, free = [], width
        here = here.past(item)
    if row:
        yield row, here
    yield here
