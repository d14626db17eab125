"""Whatever a user names as runs → ``RawTable``: a file, a folder of files, or a table in memory."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from depthlaw.data.memory_readers import read_object, read_parquet
from depthlaw.data.raw import RawTable, concatenate
from depthlaw.data.text_readers import decode_table, read_delimited, read_json, read_json_lines
from depthlaw.errors import InputError, UsageError, cannot_read

_GZIP, _PARQUET, _ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")  # what is taken from a folder, or that + .gz


def read_raw(source: Any) -> RawTable:
    """Read a table without understanding its columns.

    Parameters
    ----------
    source
        Path of a CSV, TSV, JSON lines, JSON (array of objects) or Parquet file, with or without gzip; of a
        folder of such files (JSON arrays excepted), read in the order of their names; or a table in memory
        (see ``read_object``). The format is told by content where that is certain (gzip, Parquet, JSON)
        and by the file's ending otherwise.

    Raises
    ------
    InputError
        The file is missing, unreadable, empty, of another format or damaged.
    UsageError
        The object is not a table.
    """
    if not isinstance(source, str | os.PathLike):
        return read_object(source)
    if not str(os.fspath(source)).strip():
        raise UsageError(f"A path is expected, not {os.fspath(source)!r}.", 'The current folder is ".".')
    if "\n" in os.fspath(source):
        raise UsageError(
            "A path is expected, and this is text of several lines.", "Write it to a file first."
        )
    path = Path(source)
    # os.path, because Path.is_dir raises for names that are too long
    return _read_folder(path) if os.path.isdir(path) else _read_file(path, str(path))


def _read_folder(folder: Path) -> RawTable:
    if verb := _verb_of(folder):
        raise InputError(
            f"{folder}: is a run of depthlaw {verb}, not a folder of tables of runs.",
            "Give the table that it was made from, or name one file of the folder.",
        )
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise cannot_read(folder, error) from None
    names = [name for name in names if _ending(name) in _SUFFIXES and not name.startswith(".")]
    if not names:
        raise InputError(
            f"{folder}: this folder holds no table of runs.",
            f"Files taken from a folder end in {' '.join(_SUFFIXES)}, or these and .gz.",
        )
    tables = [(name, _read_file(folder / name, str(folder / name))) for name in names]
    return tables[0][1] if len(tables) == 1 else concatenate(tables, str(folder))


def _verb_of(folder: Path) -> str | None:
    """Return the verb whose run a folder is; ``None`` for any other folder."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return None
    verb = manifest.get("verb") if isinstance(manifest, dict) else None
    return verb if isinstance(verb, str) else None


def _ending(name: str) -> str:
    return Path(name.lower().removesuffix(".gz")).suffix


def _read_file(path: Path, source: str) -> RawTable:
    data = _bytes(path, source)
    if data.startswith(_PARQUET):
        return read_parquet(data, source)
    if data.startswith(_ZIP):
        raise InputError(
            f"{source}: is a ZIP archive or a workbook (.xlsx).", "Unpack it, or save the sheet as CSV."
        )
    ending = _ending(path.name)
    if ending == ".parquet":
        raise InputError(f"{source}: is not a Parquet file (it does not begin with PAR1).")
    text, said = decode_table(data, source)
    table = _parsed(text, ending, source)
    return replace(table, notices=(*table.notices, *said))


def _parsed(text: str, ending: str, source: str) -> RawTable:
    if ending in (".csv", ".tsv"):
        return read_delimited(text, source, "\t" if ending == ".tsv" else None)
    if ending in (".jsonl", ".ndjson"):
        return read_json_lines(text, source)
    if ending == ".json" or text.lstrip().startswith(("[", "{")):
        return read_json(text, source)
    return read_delimited(text, source)


def _bytes(path: Path, source: str) -> bytes:
    """Return the content of a file, unpacked when it is gzip (whatever its name)."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte in it
        raise cannot_read(source, error) from None
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{source}: the gzip data are damaged ({error}).", "Copy or download the file again."
            ) from None
    if not data.strip():
        raise InputError(f"{source}: is empty.")
    return data
