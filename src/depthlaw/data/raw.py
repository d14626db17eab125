"""A table as it stands in its source: headers, cells, and where each row came from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from depthlaw.errors import InputError, Notice

Cells = NDArray[Any]  # (rows,): numbers, or objects (text, numbers, None) where the source has mixed ones


@dataclass(frozen=True, eq=False)
class RawTable:
    """Everything a source holds, before any column is understood.

    Attributes
    ----------
    source
        What it was read from, for messages.
    cells
        Header → cells of that column, (rows,). ``None`` stands for a cell that is not there.
    lines
        (rows,). Line of each row in its file, the header being line 1; for sources that have no lines
        (Parquet, data frames, dicts) the position of the row, from 0, or its number in a pandas index.
    line_kind
        ``"line"`` or ``"row"``: what ``lines`` counts.
    files
        (rows,) file of each row when several were read; ``None`` for one source.
    names
        (rows,) what each row is called in an index of text; ``None`` where rows have no names.
    faults
        Row → why it could not be read at all (ragged, not JSON).
    semicolons
        True when ``;`` separates the cells: a comma inside a number may then be a decimal mark.
    decimals
        Header → decimal mark of its numbers, ``","`` or ``"."``, where it is known (see ``decimal_marks``).
    notices
        What the reader of the source found worth saying.
    """

    source: str
    cells: Mapping[str, Cells]
    lines: NDArray[np.int64]
    line_kind: str = "line"
    files: NDArray[np.str_] | None = None
    names: NDArray[np.str_] | None = None
    faults: Mapping[int, str] = field(default_factory=dict)
    semicolons: bool = False
    decimals: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows, those that could not be read included."""
        return len(self.lines)

    @property
    def headers(self) -> list[str]:
        """Headers in the order of the source."""
        return list(self.cells)

    def place(self, row: int) -> str:
        """Say where row ``row`` (from 0) stands in the source; see `place_of`."""
        return place_of(self, row)

    def select(self, keep: NDArray[np.bool_]) -> RawTable:
        """Return the rows where ``keep`` (rows,) is true."""
        new_row = np.cumsum(keep) - 1
        return dataclasses.replace(
            self,
            cells={header: column[keep] for header, column in self.cells.items()},
            lines=self.lines[keep],
            files=None if self.files is None else self.files[keep],
            names=None if self.names is None else self.names[keep],
            faults={int(new_row[row]): why for row, why in self.faults.items() if keep[row]},
        )


class _HasRows(Protocol):
    @property
    def lines(self) -> NDArray[np.int64]: ...
    @property
    def line_kind(self) -> str: ...
    @property
    def files(self) -> NDArray[np.str_] | None: ...
    @property
    def names(self) -> NDArray[np.str_] | None: ...


def place_of(table: _HasRows, row: int) -> str:
    """Say where a row (from 0) stands in its source: ``"line 5"``, ``"a.csv line 5"``, ``'row "run 7"'``."""
    called = table.lines[row] if table.names is None else f'"{table.names[row]}"'
    where = f"{table.line_kind} {called}"
    return where if table.files is None else f"{table.files[row]} {where}"


def object_cells(values: Iterable[Any], count: int) -> Cells:
    """Return ``values`` as an object array (count,), also where single cells are lists themselves."""
    return np.fromiter(values, dtype=object, count=count)


def from_records(records: Sequence[Mapping[str, Any]]) -> dict[str, Cells]:
    """Turn dicts, one a row, into columns; nested dicts become ``outer.inner``, absent keys ``None``.

    The columns are those of all records together, in order of first appearance.
    """
    flat = [_flatten(record) for record in records]
    headers = dict.fromkeys(key for record in flat for key in record)
    return {h: object_cells((record.get(h) for record in flat), len(flat)) for h in headers}


def _flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{str(key).strip()}"
        if isinstance(value, Mapping):
            flat.update(_flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


def check_headers(headers: Sequence[str], source: str) -> None:
    """Refuse a header that names one column twice: which of them is meant cannot be known.

    Raises
    ------
    InputError
        Naming the header that is repeated.
    """
    seen: set[str] = set()
    for header in headers:
        if header in seen:
            raise InputError(f'{source}: two columns are called "{header}".', "Rename one of them.")
        seen.add(header)


def concatenate(tables: Sequence[tuple[str, RawTable]], source: str) -> RawTable:
    """Stack the tables of several files; the columns are the union, absent ones are missing cells.

    Parameters
    ----------
    tables
        (file name, its table), in the order in which the rows are to stand.
    source
        What the files are together, for messages (the folder).
    """
    headers = dict.fromkeys(header for _, table in tables for header in table.cells)
    cells: dict[str, Cells] = {}
    for header in headers:
        parts = [t.cells.get(header, object_cells([None] * t.n_rows, t.n_rows)) for _, t in tables]
        same_kind = len({part.dtype for part in parts}) == 1
        cells[header] = np.concatenate(parts if same_kind else [part.astype(object) for part in parts])
    faults: dict[int, str] = {}
    first = 0
    for _, table in tables:
        faults |= {first + row: why for row, why in table.faults.items()}
        first += table.n_rows
    kinds = {table.line_kind for _, table in tables}
    partial = [h for h in headers if any(h not in table.cells for _, table in tables)]
    notices = tuple(notice for _, table in tables for notice in table.notices)
    if partial:
        listing = ", ".join(partial[:5]) + (", …" if len(partial) > 5 else "")
        message = f"{source}: not every file has the columns {listing}; they are missing in the others"
        notices += (Notice("columns-differ", message),)
    return RawTable(
        source=source,
        cells=cells,
        lines=np.concatenate([table.lines for _, table in tables]),
        line_kind=kinds.pop() if len(kinds) == 1 else "line/row",
        files=np.repeat([name for name, _ in tables], [table.n_rows for _, table in tables]),
        faults=faults,
        semicolons=any(table.semicolons for _, table in tables),
        notices=notices,
    )
