"""Sources of text on this machine: files, a stream, texts in memory."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from depthlaw.data.text.files import read_text_file, read_text_stream
from depthlaw.data.text.records import Document, Record, RecordReader, number
from depthlaw.errors import InputError, cannot_read

_HASHED = 8 << 20  # bytes taken from either end of a file for its identity


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

    @cached_property
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

    @cached_property
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
