"""Files of text → records. Packing is told by content, the format by the file's ending."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from depthlaw.data.text_records import Record, RecordReader
from depthlaw.data.text_retry import TRANSIENT_ERRNOS
from depthlaw.errors import InputError, cannot_read

SEPARATOR = "<|endoftext|>"
"""A line of its own that ends a document in plain text files."""

ENDINGS = (".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".csv", ".tsv")
_PACKED = (".gz", ".zst", ".zstd")
_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"
_DAMAGED = "Copy or download the file again."


def ending(path: Path) -> str:
    """Return the ending that tells the format: ``.jsonl`` of ``a.jsonl.gz``."""
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def has_text_ending(path: Path) -> bool:
    """Whether a file of this name would be read as text."""
    return ending(path) in ENDINGS


def find_text_files(folder: Path) -> tuple[Path, ...]:
    """List the text files below ``folder`` by name, hidden ones left out.

    Raises
    ------
    InputError
        When there are none, or the folder cannot be read.
    """
    try:
        found = [
            path
            for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts)
            if has_text_ending(path)
            and path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        ]
    except OSError as error:
        raise cannot_read(folder, error) from error
    if not found:
        raise InputError(
            f"{folder}: this folder holds no text.",
            f"Files taken from a folder end in {' '.join(ENDINGS)}, or these and {' '.join(_PACKED)}.",
        )
    return tuple(found)


def read_text_file(path: Path, label: str, reader: RecordReader) -> Iterator[Record]:
    """Yield the documents of one file.

    Parameters
    ----------
    label
        The file's name in ids and errors.

    Raises
    ------
    InputError
        The file is missing, unreadable, damaged, of an unknown format, or a line of it cannot be read; the
        message begins with the label and, where it can be known, the line.
    """
    kind = ending(path)
    try:
        if kind == ".parquet":
            yield from _parquet(path, label, reader)
            return
        with _unpacked(path) as stream:
            if kind in (".csv", ".tsv"):
                yield from _delimited(stream, label, reader, "\t" if kind == ".tsv" else ",")
            elif kind in (".jsonl", ".ndjson", ".json"):
                yield from _json_lines(_lines(stream, label), label, reader)
            elif kind == ".txt":
                yield from _plain(_lines(stream, label), label)
            else:
                raise InputError(f"{label}: not a known ending for text.", f"Known: {' '.join(ENDINGS)}.")
    except OSError as error:
        if error.errno is None:  # not the system but the unpacking
            raise InputError(f"{label}: the packed data are damaged ({error}).", _DAMAGED) from error
        if error.errno in TRANSIENT_ERRNOS:
            raise
        raise cannot_read(label, error) from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{label}: the packed data are damaged ({error}).", _DAMAGED) from error


def read_text_stream(stream: BinaryIO, label: str, reader: RecordReader) -> Iterator[Record]:
    """Yield the documents of a stream: JSON lines if it begins with ``{``, else plain text.

    Raises
    ------
    InputError
        As `read_text_file`.
    """
    lines = _lines(stream, label)
    head: list[str] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break

    def again() -> Iterator[str]:
        yield from head
        yield from lines

    is_json = bool(head) and head[-1].lstrip().startswith("{")
    yield from _json_lines(again(), label, reader) if is_json else _plain(again(), label)


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked when it is gzip or zstd, whatever its name."""
    with open(path, "rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(_GZIP):
            with gzip.open(file) as unpacked:
                yield cast(BinaryIO, unpacked)
        elif magic == _ZSTD:
            import pyarrow as pa

            with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as native:
                yield cast(BinaryIO, io.BufferedReader(native, 1 << 20))
        else:
            yield file


def _lines(stream: BinaryIO | IO[bytes], label: str) -> Iterator[str]:
    for count, line in enumerate(stream, 1):
        try:
            yield (line.removeprefix(_BOM) if count == 1 else line).decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{label}:{count}: is not UTF-8 (byte 0x{line[error.start]:02x}).",
                "Convert the file to UTF-8 (iconv -f …).",
            ) from None


def _plain(lines: Iterator[str], label: str) -> Iterator[Record]:
    """Documents between separator lines; without such a line the whole is one, under the file's name."""
    part: list[str] = []
    begin, split = 1, False
    for count, line in enumerate(lines, 1):
        if line.strip() == SEPARATOR:
            yield Record(f"{label}:{begin}", "".join(part).strip())
            begin, part, split = count + 1, [], True
        else:
            part.append(line)
    text = "".join(part).strip()
    if text or not split:
        yield Record(f"{label}:{begin}" if split else label, text)


def _json_lines(lines: Iterator[str], label: str, reader: RecordReader) -> Iterator[Record]:
    columns = None
    for count, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{label}:{count}"
        try:
            row = json.loads(line)
        except ValueError as error:
            reason = str(error).partition(":")[0]
            raise InputError(f"{where}: is not JSON ({reason}).", "Every line must be one object.") from None
        if not isinstance(row, dict):
            raise InputError(
                f"{where}: is JSON, but not an object with keys.", 'Every line must be like {"text": "…"}.'
            )
        columns = columns or reader.columns(row, where)
        yield reader.record(row, columns, where)


def _delimited(stream: IO[bytes], label: str, reader: RecordReader, delimiter: str) -> Iterator[Record]:
    rows = csv.reader(_lines(stream, label), delimiter=delimiter, strict=True)
    header = _next_row(rows, label)
    if header is None:
        return
    columns = reader.columns(header, label)
    begin = rows.line_num + 1
    while (row := _next_row(rows, label)) is not None:
        where, begin = f"{label}:{begin}", rows.line_num + 1
        if not row:
            continue
        if len(row) != len(header):
            raise InputError(f"{where}: {len(row)} fields where the header has {len(header)}.")
        yield reader.record(dict(zip(header, row, strict=True)), columns, where)


def _next_row(rows: Any, label: str) -> list[str] | None:
    # The module's limit is 128 KiB a field and one for the whole process: lifted for this row only.
    limit = csv.field_size_limit(sys.maxsize)
    try:
        return cast("list[str] | None", next(rows, None))
    except csv.Error as error:
        raise InputError(f"{label}:{rows.line_num}: is not a table row ({error}).") from None
    finally:
        csv.field_size_limit(limit)


def _parquet(path: Path, label: str, reader: RecordReader) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            columns = reader.columns(file.schema_arrow.names, label)
            wanted = [name for name in columns if name is not None]
            count = 0
            for batch in file.iter_batches(batch_size=256, columns=wanted):
                for row in batch.to_pylist():
                    count += 1
                    yield reader.record(row, columns, f"{label}:{count}")
    except pa.ArrowInvalid as error:
        raise InputError(f"{label}: is not a readable Parquet file ({error}).", _DAMAGED) from None
