"""Tables that are already in memory, and Parquet → ``RawTable``.

Data frames are recognised by what they can do, so that neither pandas nor polars is ever imported here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from depthlaw.data.raw import Cells, RawTable, check_headers, from_records, object_cells
from depthlaw.errors import InputError, UsageError


def read_parquet(data: bytes, source: str) -> RawTable:
    """Read the bytes of a Parquet file.

    Raises
    ------
    InputError
        The bytes are not a readable Parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return _from_arrow(pq.read_table(pa.BufferReader(data)), source)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0][:120]
        raise InputError(f"{source}: is not a readable Parquet file ({reason}).") from None


def read_object(table: Any) -> RawTable:
    """Read a data frame (pandas, polars or any other that speaks Arrow), a dict of arrays or dicts in a list.

    Raises
    ------
    UsageError
        The object is none of these.
    InputError
        Arrays of unequal length or with more than one dimension, two columns of one name, no rows.
    """
    if isinstance(table, Mapping):
        return _from_arrays(table)
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return _from_pandas(table)
    if hasattr(table, "iloc") or hasattr(table, "to_frame"):
        raise UsageError(
            f"Runs cannot be read from {type(table).__name__}: that is one column.",
            "Give the data frame with width, depth, tokens and loss.",
        )
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "to_arrow"):
        return _from_arrow(_as_arrow(table), type(table).__name__)
    if isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        return _in_memory("list of dicts", from_records(table), len(table))
    raise UsageError(
        f"Runs cannot be read from {type(table).__name__}.",
        "Give a path, a data frame, a pyarrow table, a dict of arrays or a list of dicts.",
    )


def _in_memory(source: str, cells: dict[str, Cells], n_rows: int) -> RawTable:
    if not n_rows:
        raise InputError(f"{source}: has no rows.")
    return RawTable(source, cells, np.arange(n_rows, dtype=np.int64), line_kind="row")


def _from_arrays(arrays: Mapping[Any, Any]) -> RawTable:
    cells: dict[str, Cells] = {}
    check_headers([str(name).strip() for name in arrays], "dict")
    for name, values in arrays.items():
        column = _from_array(values) if hasattr(values, "__array__") else _from_sequence(name, values)
        if column.ndim != 1:
            raise InputError(
                f'dict: "{name}" has shape {column.shape}; one value for each run is expected.',
                "Give arrays of shape (runs,).",
            )
        cells[str(name).strip()] = column
    lengths = {name: len(column) for name, column in cells.items()}
    if len(set(lengths.values())) > 1:
        listing = ", ".join(f"{name} {length}" for name, length in list(lengths.items())[:8])
        raise InputError(f"dict: the arrays differ in length ({listing}).")
    return _in_memory("dict", cells, next(iter(lengths.values()), 0))


def _from_array(values: Any) -> Cells:
    """``values`` as it is; what a mask hides is ``None``, never the number that stands below the mask."""
    column: Cells = np.asarray(values)
    if isinstance(values, np.ma.MaskedArray) and (hidden := np.ma.getmaskarray(values)).any():
        column = column.astype(object)
        column[hidden] = None
    return column


def _from_sequence(name: Any, values: Any) -> Cells:
    if isinstance(values, str | bytes | Mapping):
        raise InputError(f'dict: "{name}" is a {type(values).__name__}; an array (runs,) is expected.')
    try:
        values = list(values)
    except TypeError:
        raise InputError(
            f'dict: "{name}" is a single {type(values).__name__}; an array (runs,) is expected.'
        ) from None
    return object_cells(values, len(values))


def _from_pandas(frame: Any) -> RawTable:
    index = frame.index
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()  # an index that has a name is a column people mean to use
    headers = [
        ".".join(map(str, name)) if isinstance(name, tuple) else str(name).strip() for name in frame.columns
    ]
    check_headers(headers, "DataFrame")
    cells: dict[str, Cells] = {}
    for position, header in enumerate(headers):
        series = frame.iloc[:, position]
        column = series.to_numpy()
        if series.dtype != column.dtype or column.dtype.kind not in "iuf":
            # text, categories, and pandas' own numbers, whose gaps would become NaN
            column = object_cells(series.astype(object).where(series.notna(), None), len(series))
        cells[header] = column
    table = _in_memory("DataFrame", cells, len(frame))
    if not index.is_unique:
        return table
    # What people see beside the row: also of a frame that was filtered.
    if index.dtype.kind == "i":
        return dataclasses.replace(table, lines=index.to_numpy().astype(np.int64))
    if index.dtype.kind == "f":
        return table  # numbers that count nothing
    names = [", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in index]
    return dataclasses.replace(table, names=np.array(names, dtype=np.str_))


def _as_arrow(table: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.table(table) if hasattr(table, "__arrow_c_stream__") else pa.table(table.to_arrow())
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0][:120]
        raise InputError(f"{type(table).__name__}: cannot be read as an Arrow table ({reason}).") from None


def _from_arrow(table: Any, source: str) -> RawTable:
    """``table`` is a ``pyarrow.Table``; columns of structs become ``outer.inner``."""
    import pyarrow as pa

    while any(pa.types.is_struct(column.type) for column in table.columns):
        table = table.flatten()
    headers = [str(name).strip() for name in table.column_names]
    check_headers(headers, source)
    cells: dict[str, Cells] = {}
    for header, column in zip(headers, table.columns, strict=True):
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if is_number and column.null_count == 0:
            cells[header] = column.to_numpy()
        else:
            cells[header] = object_cells(column.to_pylist(), len(column))
    return _in_memory(source, cells, table.num_rows)
