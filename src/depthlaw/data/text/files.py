"""Files of text → records. Packing is told by content, the format by the file's ending."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from depthlaw.data.jsonio import json_fault
from depthlaw.data.text.records import Record, RecordReader, whole_characters
from depthlaw.data.text.retry import TRANSIENT_ERRNOS
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
                yield from _json(_lines(stream, label), label, reader)
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
    head, lines = _peek(_lines(stream, label))
    is_json = head.lstrip().startswith("{")
    yield from _json(lines, label, reader) if is_json else _plain(lines, label)


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked when it is gzip or zstd, whatever its name."""
    with open(path, "rb") as file:
        magic = file.peek(4)
        if magic.startswith(_GZIP):
            with gzip.open(file) as unpacked:
                yield cast(BinaryIO, unpacked)
        elif magic.startswith(_ZSTD):
            import pyarrow as pa

            with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as native:
                yield cast(BinaryIO, io.BufferedReader(native, 1 << 20))
        else:
            yield file


def _lines(stream: BinaryIO | IO[bytes], label: str) -> Iterator[str]:
    for count, line in enumerate(stream, 1):
        if count == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            yield from _utf16_lines(chain([line], stream), label)
            return
        try:
            yield (line.removeprefix(_BOM) if count == 1 else line).decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{label}:{count}: is not UTF-8 (byte 0x{line[error.start]:02x}).",
                "Convert the file to UTF-8 (iconv -f …).",
            ) from None


def _utf16_lines(pieces: Iterable[bytes], label: str) -> Iterator[str]:
    """Lines of UTF-16, which other programs mark at its beginning; bytes may be cut anywhere."""
    decoder = codecs.getincrementaldecoder("utf-16")()
    rest = ""
    try:
        for piece in pieces:
            *whole, rest = (rest + decoder.decode(piece)).split("\n")
            yield from (f"{line}\n" for line in whole)
        rest += decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise InputError(f"{label}: is not UTF-16, as the file says of itself.", _DAMAGED) from None
    if rest:
        yield rest


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


def _json(lines: Iterator[str], label: str, reader: RecordReader) -> Iterator[Record]:
    """One object a line, or one list of objects or texts, told by its first character."""
    columns, unit = None, "line"
    head, lines = _peek(lines)
    rows: Iterable[tuple[int, Any]] = _json_lines(lines, label)
    if head.lstrip().startswith("["):
        unit, rows = "entry", _json_list(lines, label)
    for count, row in rows:
        where = f"{label}:{count}"
        if unit == "entry" and isinstance(row, str):
            yield Record(where, whole_characters(row))
            continue
        if not isinstance(row, dict):
            said = f"{where}: is JSON, but not an object with keys."
            raise InputError(said, f'Every {unit} must be like {{"text": "…"}}.')
        columns = columns or reader.columns(row, where)
        yield reader.record(row, columns, where)


def _json_lines(lines: Iterator[str], label: str) -> Iterator[tuple[int, Any]]:
    for count, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield count, json.loads(line)
            except (ValueError, RecursionError) as error:
                said = f"{label}:{count}: is not JSON ({json_fault(error)})."
                raise InputError(said, "Every line must be one object.") from None


def _json_list(lines: Iterator[str], label: str) -> Iterator[tuple[int, Any]]:
    try:
        yield from enumerate(json.loads("".join(lines)), 1)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        said = f"{label}:{line}: is not JSON ({json_fault(error)})."
        raise InputError(said, "The file begins as a list; is it whole?") from None


def _peek(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the first line that is not blank, and all lines."""
    head: list[str] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    return head[-1] if head else "", chain(head, lines)


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
