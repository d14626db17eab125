"""What every source of text can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from depthlaw.data.text.records import Document


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
