"""Measured tokens as a table: one row a token, one list of layers a quantity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from depthlaw.probe.columns import QUANTITIES
from depthlaw.probe.seen import Seen


def token_table(seen: Seen) -> pa.Table:
    """Return the tokens of a batch: which they are, flags, and every quantity that was measured.

    A quantity with several layers is a list of float32 of fixed length; entry ``l`` is what
    `depthlaw.probe.columns.QUANTITIES` says.
    """
    which, place = np.unique(seen.document, return_inverse=True)
    ids = pa.array([seen.documents[int(index)] for index in which], type=pa.string())
    columns: dict[str, pa.Array] = {
        "document": pa.array(seen.document, type=pa.int64()),
        "document_id": ids.take(pa.array(place)),
        "position": pa.array(seen.position, type=pa.int32()),
        "token_id": pa.array(seen.token_id, type=pa.int32()),
        "is_first": pa.array(seen.is_first),
        "is_special": pa.array(seen.is_special),
    }
    for name in QUANTITIES:
        # One block has no two updates: a list of none is no column.
        if name in seen.columns and seen.columns[name].size:
            values = seen.columns[name]
            flat = pa.array(values.ravel(), type=pa.float32())
            layered = values.ndim == 2
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1]) if layered else flat
    return pa.table(columns)


def layers_of(table: pa.Table, name: str) -> np.ndarray:
    """Return one quantity of a token table as (tokens, layers) or (tokens,) float32."""
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    return flat.reshape(len(column), column.type.list_size)


def joined(tables: Iterable[pa.Table]) -> pa.Table | None:
    """Join tables of the same pass; ``None`` when there are none."""
    known: Sequence[pa.Table] = list(tables)
    return pa.concat_tables(known).combine_chunks() if known else None
