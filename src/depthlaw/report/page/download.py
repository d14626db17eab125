"""Tables as CSV inside the page."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from urllib.parse import quote

from depthlaw.report.page.model import DataTable

MOST = 400_000
"""Bytes that one table may take of the page."""

_PIECE = 200


def data_link(table: DataTable, most: int) -> tuple[str, int]:
    """Write a table as the ``data:`` link of a CSV file, from the first row on.

    Parameters
    ----------
    most
        Bytes that the link may have; rows that go beyond are left out.

    Returns
    -------
    tuple
        The link, and the number of rows in it.
    """
    link = f"data:text/csv;charset=utf-8,{_quoted([list(table.units)])}"
    written = 0
    for piece in table.pieces():
        for start in range(0, piece.num_rows, _PIECE):
            rows = [[_cell(v) for v in row.values()] for row in piece.slice(start, _PIECE).to_pylist()]
            lines = [_quoted([row]) for row in rows]
            whole = sum(map(len, lines))
            if len(link) + whole > most:
                for line in lines:
                    if len(link) + len(line) > most:
                        break
                    link += line
                    written += 1
                return link, written
            link += "".join(lines)
            written += len(rows)
    return link, written


def units_text(table: DataTable) -> str:
    """Say the unit of every column: ``depth (blocks); term, term_low (nats per token); kind``."""
    by_unit: dict[str, list[str]] = {}
    for column, unit in table.units.items():
        by_unit.setdefault("" if unit == "1" else unit, []).append(column)
    return "; ".join(
        f"{', '.join(columns)} ({unit})" if unit else ", ".join(columns) for unit, columns in by_unit.items()
    )


def _quoted(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return quote(text.getvalue(), safe=",:;/", errors="replace")


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value
