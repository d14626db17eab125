"""Text as a stream of documents: whatever a user names as text, in a fixed order, with ids, and resumable.

A source is read from front to back and never shuffled; the position in it is our own count of documents.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from depthlaw.data.text_files import find_text_files, has_text_ending, read_text_file, read_text_stream
from depthlaw.data.text_hub import HubText
from depthlaw.data.text_records import Document, Record, RecordReader, number
from depthlaw.errors import InputError, UsageError, cannot_read, no_such_file

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_HASHED = 8 << 20  # bytes taken from either end of a file for its identity


class TextSource(Protocol):
    """Documents in a fixed order."""

    @property
    def name(self) -> str:
        """The source as the user named it."""
        ...

    @property
    def description(self) -> str:
        """One line on what is taken as a document."""
        ...

    @property
    def identity(self) -> str | None:
        """Hash of what is known of the content, not of its place; ``None`` when nothing is known."""
        ...

    def documents(self, skip: int = 0) -> Iterator[Document]:
        """Yield the documents after the first ``skip``.

        Raises
        ------
        InputError
            When the source cannot be read, naming file and line.
        """
        ...


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


@dataclass(frozen=True)
class FilesText:
    """Files read one after the other; see `open_text`."""

    name: str
    root: Path
    files: tuple[Path, ...]
    reader: RecordReader

    @property
    def description(self) -> str:
        """One line on what is taken as a document."""
        endings = {suffix for path in self.files for suffix in path.suffixes}
        rule = "; a .txt file is split at lines <|endoftext|> and is one document without them"
        files = self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"
        return files + (rule if ".txt" in endings else ", one document a line or row")

    @property
    def identity(self) -> str | None:
        """Hash of the files' names under the root, sizes, and their first and last 8 MiB.

        Raises
        ------
        InputError
            When a file cannot be read.
        """
        digest = hashlib.sha256(f"{self.reader.text_column}".encode())
        for path in self.files:
            try:
                _add_file(digest, path, self._label(path))
            except OSError as error:
                raise cannot_read(path, error) from error
        return digest.hexdigest()

    def documents(self, skip: int = 0) -> Iterator[Document]:
        """Yield the documents after the first ``skip``."""
        records = (
            record for path in self.files for record in read_text_file(path, self._label(path), self.reader)
        )
        yield from number(records, skip)

    def _label(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def _add_file(digest: hashlib._Hash, path: Path, label: str) -> None:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(f"\0{label}\0{size}\0".encode())
        digest.update(file.read(_HASHED))
        if size > _HASHED:
            file.seek(-_HASHED, io.SEEK_END)
            digest.update(file.read(_HASHED))


@dataclass(frozen=True)
class MemoryText:
    """Texts in memory, for notebooks and tests; ids are ``#1``, ``#2``, …"""

    texts: tuple[str, ...]
    name: str = "texts in memory"
    description: str = "one document a text"

    @property
    def identity(self) -> str | None:
        """Hash of all texts."""
        digest = hashlib.sha256()
        for text in self.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\xff")
        return digest.hexdigest()

    def documents(self, skip: int = 0) -> Iterator[Document]:
        """Yield the documents after the first ``skip``."""
        yield from number((Record(f"#{i}", text) for i, text in enumerate(self.texts, 1)), skip)


class StreamText:
    """Standard input or another stream of JSON lines or plain text, which can be read only once."""

    name = "-"
    description = "JSON lines, or text split at lines <|endoftext|>"
    identity = None  # what will come through a pipe cannot be known

    def __init__(self, stream: BinaryIO, reader: RecordReader) -> None:
        self._stream: BinaryIO | None = stream
        self._reader = reader

    def documents(self, skip: int = 0) -> Iterator[Document]:
        """Yield the documents after the first ``skip``.

        Raises
        ------
        InputError
            At the second call, or as for files.
        """
        stream, self._stream = self._stream, None
        if stream is None:
            raise InputError("standard input can be read only once.", "Save it to a file and name that.")
        try:
            yield from number(read_text_stream(stream, "stdin", self._reader), skip)
        finally:
            if stream is not sys.stdin.buffer:
                stream.close()
