"""Delimited text and JSON lines → ``RawTable``, with the line in the file of every row."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import re
from typing import Any

import numpy as np

from depthlaw.data.jsonio import json_fault
from depthlaw.data.raw import Cells, RawTable, check_headers, from_records, object_cells
from depthlaw.errors import InputError, Notice

_SEPARATORS = (",", ";", "\t", "|")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # what text of any encoding has not
_MAX_CELL = 131_072  # characters; longer means a quote that was never closed


def decode(data: bytes, source: str, *hint: str) -> str:
    """Decode the bytes of a text file: UTF-8 with or without a byte order mark, or UTF-16 with one.

    ``hint`` is what to read instead of a binary file.

    Raises
    ------
    InputError
        The bytes are not text, or in another encoding.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig"
        if b"\0" in data[:4096]:
            raise InputError(f"{source}: is a binary file, not text.", *hint)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{source}: line {line} is not {encoding.removesuffix('-sig').upper()} text "
            f"(byte 0x{data[error.start]:02x}).",
            "Save the file as UTF-8.",
        ) from None


def decode_table(data: bytes, source: str) -> tuple[str, tuple[Notice, ...]]:
    """The same for tables: what is neither is read as Windows-1252, as Excel saves CSV, and said.

    Numbers are the same in both, so that at worst names are wrong.
    """
    try:
        return decode(data, source, _FORMATS), ()
    except InputError:
        if not _CONTROL.search(data):  # UTF-16 has zeros
            with contextlib.suppress(UnicodeDecodeError):
                said = "read as Windows-1252, because the file is no UTF-8: check names that are not English"
                return data.decode("cp1252"), (Notice("windows-1252", said),)
        raise


_FORMATS = "Readable are CSV, TSV, JSON lines and Parquet, each also with gzip."


def read_delimited(text: str, source: str, separator: str | None = None) -> RawTable:
    """Read CSV, TSV and relatives.

    Quoted cells may hold separators and newlines; blank lines are skipped but counted, so that ``lines``
    are those an editor shows (the first line of a row that spans several). A row with too few or too many
    cells is kept as a fault of that row.

    Parameters
    ----------
    text
        The whole file.
    separator
        One character; ``None`` takes the one that is most frequent in the header: ``, ; tab |``.

    Raises
    ------
    InputError
        Nothing in it, no row below the header, no header, a header twice, a quote that is never closed, no
        row with as many cells as the first line (a comment or ``sep=`` stands there).
    """
    if not text.strip():
        raise InputError(f"{source}: is empty.")
    separator = separator or _separator(text)
    # strict: a quote that is never closed is an error, and not the rest of the file in one cell
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header: list[str] = []
    rows: list[list[str | None]] = []
    lines: list[int] = []
    faults: dict[int, str] = {}
    header_line = 1
    before = 0  # lines consumed before the row at hand
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in row):
                # a line of bare separators is blank too; skipped, but its line has been counted
                continue
            if not header:
                header, header_line = _header(row, source), line
                continue
            cells: list[str | None] = [cell.strip() for cell in row]
            while len(cells) > len(header) and not cells[-1]:
                cells.pop()  # a separator at the end of the line
            if len(cells) != len(header):
                faults[len(rows)] = f"{len(cells)} cells, the header has {len(header)}"
                cells = [None] * len(header)
            rows.append(cells)
            lines.append(line)
    except csv.Error as error:
        raise InputError(
            f"{source}: the row that starts in line {before + 1} cannot be read ({error}).",
            'Look for a quote (") that is never closed.',
        ) from None
    if not rows:
        raise InputError(f"{source}: has a header and no rows.")
    if len(faults) == len(rows) > 1:
        raise _no_header(faults, header_line, header, source)
    columns = {
        name: object_cells(column, len(rows))
        for name, column in zip(header, zip(*rows, strict=True), strict=True)
    }
    return RawTable(
        source, columns, np.array(lines, dtype=np.int64), faults=faults, semicolons=separator == ";"
    )


def _header(row: list[str], source: str) -> list[str]:
    header = [cell.strip() for cell in row]
    while header and not header[-1]:
        header.pop()
    # an unnamed column is what pandas writes for its index
    header = [name or f"column {position}" for position, name in enumerate(header, start=1)]
    check_headers(header, source)
    if all(_is_number(name) for name in header):
        raise InputError(
            f"{source}: the first line holds numbers ({', '.join(header[:3])}, …), not the names of columns.",
            "Add a header line, for example: width,depth,tokens,loss",
        )
    return header


def _no_header(faults: dict[int, str], line: int, header: list[str], source: str) -> InputError:
    first = header[0] if len(header[0]) <= 40 else f"{header[0][:39]}…"
    return InputError(
        f'{source}: line {line} ("{first}") is not the header: none of the {len(faults)} rows below it '
        f"has as many cells (the first: {faults[0]}).",
        "Remove what stands above the names of the columns, or name each column.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _separator(text: str) -> str:
    first = next(line for line in text.splitlines() if line.strip())
    unquoted = "".join(first.split('"')[::2])
    return max(_SEPARATORS, key=unquoted.count)  # the first of them wins a tie: a single column is CSV


def read_json_lines(text: str, source: str) -> RawTable:
    """Read one JSON object a line; nested objects become ``outer.inner``. Blank lines are skipped.

    A line that is not a JSON object is kept as a fault of that row, as the last line of a run that was
    killed while writing.

    Raises
    ------
    InputError
        No line holds a JSON object.
    """
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    faults: dict[int, str] = {}
    # not str.splitlines(): that also splits at characters which are legal inside JSON strings
    for line, content in enumerate(io.StringIO(text, newline=None), start=1):
        if not content.strip():
            continue
        try:
            record = json.loads(content)
        except (ValueError, RecursionError) as error:
            record = None
            faults[len(records)] = f"not JSON ({json_fault(error)})"
        else:
            if not isinstance(record, dict):
                faults[len(records)] = "not a JSON object"
        records.append(record if isinstance(record, dict) else {})
        lines.append(line)
    if not records:
        raise InputError(f"{source}: is empty.")
    if len(faults) == len(records):
        raise InputError(f"{source}: line {lines[0]} is {faults[0]}.", "One JSON object a line is expected.")
    cells: dict[str, Cells] = from_records(records)
    return RawTable(source, cells, np.array(lines, dtype=np.int64), faults=faults)


def read_json(text: str, source: str) -> RawTable:
    """Read a JSON document: an array of objects, one a row; an object of columns; or one that holds either.

    Rows are counted from 0. What is no single JSON document is read as JSON lines.

    Raises
    ------
    InputError
        Not JSON, or JSON that holds no rows.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("{"):
            return read_json_lines(text, source)
        raise InputError(f"{source}: is not JSON ({error}).") from None
    if isinstance(document, dict) and not any(isinstance(value, list) for value in document.values()):
        return read_json_lines(json.dumps(document), source)  # one run, or the only line of a file
    records = _records(document, source)
    return RawTable(source, from_records(records), np.arange(len(records)), line_kind="row")


def _records(document: Any, source: str) -> list[dict[str, Any]]:
    """Return the rows of a document."""
    if _is_rows(document):
        return list(document)
    if isinstance(document, dict):
        held = [key for key, value in document.items() if _is_rows(value)]
        if len(held) == 1:
            return list(document[held[0]])
        if held:
            listing = ", ".join(f'"{key}"' for key in held[:6])
            raise InputError(f"{source}: holds several tables ({listing}).", "Save the one that is meant.")
        columns = {key: value for key, value in document.items() if isinstance(value, list)}
        if len({len(value) for value in columns.values()}) == 1 and next(iter(columns.values())):
            rows = zip(*columns.values(), strict=True)  # as pandas writes with orient="list"
            return [dict(zip(columns, row, strict=True)) for row in rows]
    raise InputError(f"{source}: is not a JSON array of objects, one for each run, nor an object of columns.")


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
