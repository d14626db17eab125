"""Tokens of a cluster in their context, to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from depthlaw.probe.result import ProbeResult


@dataclass(frozen=True)
class Example:
    """A token in its context.

    Attributes
    ----------
    row
        Of the token table.
    document, position
        Where it stands.
    before, token, after
        Decoded text; without context where the table has none.
    """

    row: int
    document: int
    position: int
    before: str
    token: str
    after: str


def typical(order: ArrayLike, document: ArrayLike, n: int, *, among: ArrayLike | None = None) -> list[int]:
    """Choose rows that come first by ``order``, at most one a document while there are others.

    Parameters
    ----------
    order
        (tokens,) lowest first: the mean angle in the middle for early stoppers. NaN is never chosen.
    document
        (tokens,) which document each is of.
    n
        How many.
    among
        (tokens,) bool, which may be chosen; ``None`` for all.
    """
    key = np.asarray(order, dtype=np.float64)
    allowed = np.isfinite(key) if among is None else np.isfinite(key) & np.asarray(among, dtype=bool)
    rows = np.flatnonzero(allowed)
    rows = rows[np.argsort(key[rows], kind="stable")]
    first = np.sort(np.unique(np.asarray(document)[rows], return_index=True)[1])
    later = np.setdiff1d(np.arange(len(rows)), first)
    chosen: list[int] = rows[np.concatenate([first, later])[:n].astype(int)].tolist()
    return chosen


def in_context(
    rows: Sequence[int],
    document: ArrayLike,
    position: ArrayLike,
    token_id: ArrayLike,
    decode: Callable[[list[int]], str],
    *,
    context: int = 8,
) -> list[Example]:
    """Show rows of a token table with the tokens around them.

    Parameters
    ----------
    rows
        Rows of the table.
    document, position, token_id
        (tokens,) columns of the table, tokens in any order.
    decode
        Ids to text, as a tokenizer does it.
    context
        Tokens shown on either side, as far as the table has them without a gap.
    """
    documents, positions, ids = (np.asarray(column) for column in (document, position, token_id))
    examples = []
    for row in rows:
        same = np.flatnonzero(documents == documents[row])
        place = {int(positions[i]): int(ids[i]) for i in same}
        here = int(positions[row])
        before = _run(place, range(here - 1, here - 1 - context, -1))[::-1]
        after = _run(place, range(here + 1, here + 1 + context))
        examples.append(
            Example(
                row,
                int(documents[row]),
                here,
                decode(before) if before else "",
                decode([int(ids[row])]),
                decode(after) if after else "",
            )
        )
    return examples


def examples_of(
    result: ProbeResult, decode: Callable[[list[int]], str], *, n: int = 8, context: int = 8
) -> list[Example]:
    """Show the tokens of a probe that turn least, those of the early cluster.

    Parameters
    ----------
    decode
        Ids to text, as the model's tokenizer does it.
    n
        How many, from different documents while there are others.
    context
        Tokens shown on either side; none where the probe kept no table of tokens.

    Returns
    -------
    list of Example
        Empty when the data do not support a second cluster. ``row`` counts the sampled tokens.
    """
    found, sample = result.trajectories, result.gathered.sample
    if found is None or sample is None or found.early is None:
        return []
    early = found.probability > 0.5
    rows = typical(middles(sample.theta_state), sample.document, n, among=early)
    try:
        document, position, token_id = _around(result.shards(), sample.document[rows])
    except UsageError:
        document, position, token_id = (sample.document[rows], sample.position[rows], sample.token_id[rows])
    place = {pair: row for row, pair in enumerate(zip(document.tolist(), position.tolist(), strict=True))}
    there = [place[int(sample.document[row]), int(sample.position[row])] for row in rows]
    shown = in_context(there, document, position, token_id, decode, context=context)
    return [replace(example, row=row) for example, row in zip(shown, rows, strict=True)]


def _around(shards: Iterable[pa.Table], documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return document, position and id of all tokens of some documents, one shard at a time."""
    parts: list[list[NDArray[np.int64]]] = []
    for shard in shards:
        columns = [np.asarray(shard.column(name)) for name in ("document", "position", "token_id")]
        mine = np.isin(columns[0], documents)
        parts.append([column[mine].astype(np.int64) for column in columns])
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _run(place: dict[int, int], positions: range) -> list[int]:
    found: list[int] = []
    for position in positions:
        if position not in place:
            break
        found.append(place[position])
    return found


def middles(theta: ArrayLike) -> NDArray[np.float64]:
    """Mean angle of each token, (tokens,), without the first and the last of (tokens, layers)."""
    middle: NDArray[np.float64] = np.asarray(theta, dtype=np.float64)[:, 1:-1].mean(axis=1)
    return middle
