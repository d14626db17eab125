"""``read_runs``: from whatever holds a table of training runs to arrays that can be fitted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.bad_rows import bad_rows_error, count_reasons, find_bad_rows
from depthlaw.data.columns import (
    QUANTITIES,
    UNITS,
    Columns,
    ColumnUse,
    ambiguity,
    cluster_candidates,
    step_column,
    understand,
    unused_columns,
)
from depthlaw.data.numbers import Numbers, decimal_marks, labels, to_numbers
from depthlaw.data.raw import RawTable
from depthlaw.data.readers import read_raw
from depthlaw.data.table import RunTable, assemble
from depthlaw.data.where import select_rows
from depthlaw.errors import InputError, Notice, UsageError, suggesting, unknown_name
from depthlaw.plurals import counted

__all__ = ["ColumnUse", "RunTable", "read_runs"]

_COUNTS = ("width", "depth", "params", "tokens", "flops")  # quantities in which 5,770 means 5770
_LARGE_COUNTS = ("params", "tokens", "flops")  # quantities in which 7B means 7e9


@suggesting
def read_runs(
    source: Any,
    *,
    width: str | None = None,
    depth: str | None = None,
    tokens: str | None = None,
    params: str | None = None,
    flops: str | None = None,
    loss: str | None = None,
    weights: str | None = None,
    cluster: str | None = None,
    where: str | None = None,
    exclude_highest: int = 0,
    drop_bad: bool = False,
    drop_duplicates: bool = False,
    decimal: Literal[",", "."] | None = None,
    use: Collection[str] | None = None,
) -> RunTable:
    """Read a table of training runs.

    In this order: columns are understood, ``where`` selects (it sees bad rows too, and may remove them), bad
    rows are refused or dropped, rows of weight 0 and then copies are left out, ``exclude_highest`` applies.

    Parameters
    ----------
    source
        Path of a CSV, TSV, JSON lines or Parquet file, with or without gzip, or of a folder of them; a data
        frame (pandas, polars), a ``pyarrow.Table``, a dict of arrays (runs,) or a list of dicts.
    width, depth, tokens, params, flops, loss
        Header of that column; ``None`` looks for the names people use (see ``columns.ALIASES``).
    weights
        Header of relative weights (≥ 0); ``None`` gives every row the same.
    cluster
        Header of the run that each row is a checkpoint of. ``None`` takes a column called ``run_id``,
        ``run``, ``run_name`` or the like if its labels repeat and each has one width and depth.
    where
        Condition on rows, such as ``"loss < 3 and width >= 512"`` (see ``where.select_rows``).
    exclude_highest
        Keep only rows whose loss is strictly below the K-th largest, as the paper does with 40; 0 keeps all.
    drop_bad
        Leave bad rows out and count them, instead of refusing the table.
    drop_duplicates
        Keep one of rows that agree exactly in every column.
    decimal
        Decimal mark of numbers that are text; ``None`` takes a comma for one where it cannot stand before
        thousands, and reports what is unclear.
    use
        Our names of the columns that will be used; only these are checked for bad values. ``None``: those
        given, width, depth, tokens and loss where present; params where width or depth is absent; flops
        where moreover params or tokens is absent. Other columns are read and may hold NaN
        (``RunTable.require`` checks them later).

    Raises
    ------
    InputError
        The source cannot be read, has bad rows, or no row is left.
    UsageError
        A name that is not in the table, several columns that could be meant, a condition that cannot be read.
    """
    if where is not None and not isinstance(where, str):
        raise UsageError(
            f'where is a {type(where).__name__}; a condition in text is expected, such as "loss < 3".',
            "For a mask or positions use RunTable.take.",
        )
    for flag, value in (("drop_bad", drop_bad), ("drop_duplicates", drop_duplicates)):
        if not isinstance(value, bool | np.bool_):
            raise UsageError(f"{flag} is {value!r}; True or False is expected.")
    if decimal not in (None, ",", "."):
        raise UsageError(f'decimal is {decimal!r}; "," or "." is expected.')
    raw = read_raw(source)
    given = {
        "width": width,
        "depth": depth,
        "tokens": tokens,
        "params": params,
        "flops": flops,
        "loss": loss,
        "weights": weights,
        "cluster": cluster,
    }
    found = understand(raw.headers, given, raw.source)
    checked = _columns_to_check(found, use, raw.source)
    headers = {column.name: column.source for column in found.uses}
    history: list[str] = []
    if decimal is None:
        read = raw.cells if not raw.semicolons else {h: raw.cells[h] for h in headers.values()}
        raw = replace(raw, decimals=decimal_marks(read, together=raw.semicolons))
    else:
        raw = replace(raw, decimals=dict.fromkeys(raw.headers, decimal))
    if commas := [h for h in headers.values() if raw.decimals.get(h) == ","]:
        history.append(f"read commas as decimal marks in {', '.join(commas)}")

    if where is not None:
        keep = select_rows(where, raw, headers, {use.name: use.factor for use in found.uses})
        if not keep.any():
            raise InputError(f'{raw.source}: none of {raw.n_rows} rows satisfies "{where}".')
        history.append(f'kept {keep.sum()} of {raw.n_rows} rows where "{where}"')
        raw = raw.select(keep)

    numbers, uses = _read_numbers(raw, found.uses)
    bad = find_bad_rows(
        {headers[name]: numbers[name] for name in checked if name in headers},
        (headers["weights"], numbers["weights"]) if "weights" in headers else None,
        (headers["cluster"], labels(raw.cells[headers["cluster"]])) if "cluster" in headers else None,
        raw.faults,
    )
    notices = [*raw.notices, *found.notices]
    sought = [name for name in checked if name not in ("loss", "flops")]
    if unused := unused_columns(raw.headers, headers, sought):
        notices.append(unused)
    if bad:
        if not drop_bad or len(bad) == raw.n_rows:
            raise bad_rows_error(bad, raw.n_rows, raw.source, raw.place)
        reasons = count_reasons(bad)
        history.append(f"dropped {counted(len(bad), 'bad row')} ({reasons})")
        places = tuple(int(raw.lines[row]) for row in bad)
        message = f"{len(bad)} of {raw.n_rows} rows were unusable and are left out ({reasons})"
        notices.append(Notice("bad-rows-dropped", message, places))
        keep = np.ones(raw.n_rows, dtype=bool)
        keep[list(bad)] = False
        raw = raw.select(keep)
        numbers = {name: column.select(keep) for name, column in numbers.items()}
    notices += _suffix_notices(numbers, headers)

    if "weights" in numbers:
        keep = numbers["weights"].values > 0
        if not keep.any():
            raise InputError(f'{raw.source}: every weight in "{headers["weights"]}" is zero.')
        if not keep.all():
            history.append(f"left out {counted(int((~keep).sum()), 'row')} of weight 0")
            raw = raw.select(keep)
            numbers = {name: column.select(keep) for name, column in numbers.items()}

    columns = {name: numbers[name].values for name in QUANTITIES if name in numbers}
    mapping, clusters, cluster_source, said = _clusters(raw, uses, columns)
    table = assemble(
        RunTable(
            columns=columns,
            lines=raw.lines,
            source=raw.source,
            sha256="",
            mapping=mapping,
            weights=numbers["weights"].values if "weights" in numbers else None,
            clusters=clusters,
            cluster_source=cluster_source,
            notices=(*notices, *said),
            history=tuple(history),
            headers=tuple(raw.headers),
            ambiguous=found.ambiguous,
            line_kind=raw.line_kind,
            files=raw.files,
            names=raw.names,
        )
    )
    if drop_duplicates:
        table = table.drop_duplicates()
    return table.exclude_highest(exclude_highest)


def _columns_to_check(found: Columns, use: Collection[str] | None, source: str) -> list[str]:
    """Return our names of the columns whose values must be usable; see ``use`` of ``read_runs``."""
    present = {column.name for column in found.uses} | found.ambiguous.keys()
    if use is not None:
        for name in use:
            if name not in QUANTITIES:
                raise unknown_name("quantity", name, QUANTITIES)
        wanted = set(use)
    else:
        wanted = {column.name for column in found.uses if column.how == "given"}
        wanted |= {"width", "depth", "tokens", "loss"}
        if not {"width", "depth"} <= present:
            wanted.add("params")
            if not {"params", "tokens"} <= present:
                wanted.add("flops")
    for name, choices in found.ambiguous.items():
        if name in wanted:
            raise ambiguity(name, choices, source)
    return [name for name in QUANTITIES if name in wanted]


def _read_numbers(
    raw: RawTable, uses: tuple[ColumnUse, ...]
) -> tuple[dict[str, Numbers], tuple[ColumnUse, ...]]:
    """Return the numbers by our name, and the columns with the factors that were applied."""
    numbers, applied = {}, []
    for use in uses:
        if use.name != "cluster":
            stated = to_numbers(
                raw.cells[use.source],
                counts=use.name in _COUNTS,
                suffixes=use.name in _LARGE_COUNTS,
                semicolons=raw.semicolons,
                decimal=raw.decimals.get(use.source),
            )
            numbers[use.name] = stated.times(use.factor)
            if numbers[use.name] is stated:
                use = replace(use, factor=1.0)
        applied.append(use)
    return numbers, tuple(applied)


def _suffix_notices(numbers: dict[str, Numbers], headers: dict[str, str]) -> list[Notice]:
    return [
        Notice(
            "suffixed-numbers",
            f'{len(column.suffixed)} values of "{headers[name]}" are written with K, M, B or T '
            "and read as thousands to trillions: they are rounded",
        )
        for name, column in numbers.items()
        if column.suffixed
    ]


def _clusters(
    raw: RawTable, uses: tuple[ColumnUse, ...], columns: dict[str, NDArray[np.float64]]
) -> tuple[tuple[ColumnUse, ...], NDArray[np.str_] | None, str | None, tuple[Notice, ...]]:
    """Return (mapping, labels (runs,), how they were found, notices) of the cluster column, if any."""
    for use in uses:
        if use.name == "cluster":
            return uses, labels(raw.cells[use.source]), f"{use.source} (given)", ()
    taken = {use.source for use in uses}
    for header in cluster_candidates(raw.headers):
        names = labels(raw.cells[header])
        distinct, run = np.unique(names, return_inverse=True)
        if header in taken or len(distinct) == len(names):
            continue  # no label repeats: every row is a run of its own
        if "" in distinct:
            why = "some rows have none"
        elif not _one_shape_each(run, columns):
            why = "one label covers models of different shape"
        else:
            use = ColumnUse("cluster", header, UNITS["cluster"], "recognised")
            message = (
                f'{len(names)} rows are checkpoints of {len(distinct)} runs by their "{header}": '
                "checkpoints of one run are not independent"
            )
            return (*uses, use), names, f"{header} (recognised)", (Notice("clusters-recognised", message),)
        doubt = f'labels in "{header}" repeat but are not taken as runs ({why}); --cluster "{header}" does so'
        return uses, None, None, (Notice("clusters-not-used", doubt),)
    return uses, None, None, _checkpoints(raw, columns)


def _checkpoints(raw: RawTable, columns: dict[str, NDArray[np.float64]]) -> tuple[Notice, ...]:
    """Say that a column counts steps, where rows of one shape differ in it and no column names their run."""
    shape = [columns[name] for name in ("width", "depth", "params") if name in columns]
    header = step_column(raw.headers)
    if header is None or not shape:
        return ()
    steps = labels(raw.cells[header])
    n_shapes = len(np.unique(np.stack(shape), axis=1).T)
    if len(np.unique(steps)) == 1 or n_shapes == raw.n_rows:
        return ()
    message = (
        f'by their column "{header}" rows are checkpoints, and those of one run are not independent: '
        "name the run with --cluster COLUMN, or count shapes with --errors shapes"
    )
    return (Notice("checkpoints-unlabelled", message),)


def _one_shape_each(run: NDArray[np.intp], columns: dict[str, NDArray[np.float64]]) -> bool:
    """Say whether all rows of a run (numbered, (runs,)) have the width, depth and params of the first."""
    _, first = np.unique(run, return_index=True)
    shape = [columns[name] for name in ("width", "depth", "params") if name in columns]
    return all(np.array_equal(column, column[first][run], equal_nan=True) for column in shape)
