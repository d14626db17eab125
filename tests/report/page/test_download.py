"""Tables come out of the page as they went in, or say how much is missing."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

from depthlaw.report.page.download import data_link, units_text
from depthlaw.report.page.model import DataTable


def table_of(
    columns: Mapping[str, Any], units: Mapping[str, str] | None = None, pieces: int = 1
) -> DataTable:
    rows = pa.table(columns)
    size = max(1, -(-rows.num_rows // pieces))
    parts = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
    units = dict.fromkeys(columns, "1") if units is None else units
    return DataTable("t.parquet", "t.parquet", units, rows.num_rows, lambda: iter(parts))


def content(link: str) -> list[list[str]]:
    head, _, data = link.partition(",")
    assert head == "data:text/csv;charset=utf-8"
    assert data.isascii()
    assert not set(data) & set(" \"'<>#%&\n") - {"%"}
    return list(csv.reader(io.StringIO(unquote(data), newline="")))


def test_every_value_comes_back() -> None:
    values = [0.1, -1e-300, 1.0, math.nan, None]
    words = ['say "no"', "a,b\nc", "θ & <b>", "50 % #1", ""]
    link, rows = data_link(
        table_of({"x": values, "word": words, "ids": [[1, 2], [], None, [3], [4]]}, pieces=2), 10_000
    )
    header, *body = content(link)
    assert (header, rows, len(body)) == (["x", "word", "ids"], 5, 5)
    assert [float(row[0]) for row in body[:3]] == values[:3]
    assert [row[0] for row in body[3:]] == ["nan", ""]
    assert [row[1] for row in body] == words
    assert [row[2] for row in body] == ["[1, 2]", "[]", "", "[3]", "[4]"]


@pytest.mark.parametrize("most", [100, 1000, 5000])
def test_the_first_rows_fill_the_room(most: int) -> None:
    table = table_of({"x": list(range(1000))}, pieces=7)
    link, rows = data_link(table, most)
    assert len(link) <= most < len(link) + 6
    assert content(link)[1:] == [[str(k)] for k in range(rows)]
    assert 0 < rows < 1000


def test_no_rows() -> None:
    link, rows = data_link(table_of({"x": pa.array([], pa.float64())}), 100)
    assert (content(link), rows) == ([["x"]], 0)


def test_units_in_words() -> None:
    units = {"depth": "blocks", "low": "nats", "high": "nats", "kind": "1", "other": ""}
    assert (
        units_text(table_of({name: [1] for name in units}, units))
        == "depth (blocks); low, high (nats); kind, other"
    )
