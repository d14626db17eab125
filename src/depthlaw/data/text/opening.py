"""Finding out what a user named as text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from depthlaw.data.text.files import find_text_files, has_text_ending
from depthlaw.data.text.hub import HubText
from depthlaw.data.text.local import FilesText, MemoryText, StreamText
from depthlaw.data.text.records import RecordReader
from depthlaw.data.text.source import TextSource
from depthlaw.errors import UsageError, no_such_file

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def open_text(
    source: Any,
    *,
    text_column: str | None = None,
    dataset_config: str | None = None,
    split: str = "train",
    revision: str | None = None,
) -> TextSource:
    """Find out what ``source`` is; nothing but names and endings is looked at.

    Parameters
    ----------
    source
        A file (``.txt .jsonl .ndjson .json .parquet .csv .tsv``, plain or packed with gzip or zstd), a
        folder of such files (searched through, read in the order of their names), ``-`` for standard input
        or a pipe's name (JSON lines or plain text),
        a Hugging Face data set (``hf:org/name``, or ``org/name`` when no such path exists), or a sequence of
        texts.
    text_column
        Column or key that holds the text; ``None`` recognises ``text``, ``content`` and the like.
    dataset_config, split, revision
        Only for data sets of the hub.

    Raises
    ------
    InputError
        There is no such file or folder, or a folder without text.
    UsageError
        ``source`` is none of the above.
    """
    reader = RecordReader(text_column)
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        if name in ("-", "/dev/stdin"):
            return StreamText(sys.stdin.buffer, reader)
        if name.startswith("hf:") or (_HUB_ID.fullmatch(name) and not _is_local(name)):
            return HubText(name.removeprefix("hf:"), reader, dataset_config, split, revision)
        path = Path(name)
        if path.is_dir():
            return FilesText(name, path, find_text_files(path), reader)
        if not path.exists():
            raise no_such_file(name, "A data set of the hub is written hf:org/name.")
        if not path.is_file():  # a pipe under a name, as <(command) of a shell
            return StreamText(open(path, "rb"), reader)
        return FilesText(name, path.parent, (path,), reader)
    if isinstance(source, Sequence) and not isinstance(source, bytes) and all(map(_is_text, source)):
        return MemoryText(tuple(source))
    raise UsageError(f"text cannot be read from {type(source).__name__}.", "Give a path or a list of texts.")


def _is_text(item: object) -> bool:
    return isinstance(item, str)


def _is_local(name: str) -> bool:
    return Path(name).exists() or has_text_ending(Path(name)) or Path(name).parent.is_dir()
