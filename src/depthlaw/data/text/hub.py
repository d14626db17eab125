"""Data sets of the Hugging Face hub, streamed through the ``datasets`` package where it is installed."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from depthlaw.data.text.records import Document, RecordReader
from depthlaw.errors import InputError
from depthlaw.hub import why_not_reachable


@dataclass(frozen=True)
class HubText:
    """A data set of the hub, read in its own order without downloading it whole; see `text.open_text`."""

    dataset: str
    reader: RecordReader
    config: str | None = None
    split: str = "train"
    revision: str | None = None

    @property
    def name(self) -> str:
        """The source as a user would name it."""
        return f"hf:{self.dataset}"

    @property
    def description(self) -> str:
        """One line on what is read."""
        parts = [self.config, self.split, self.revision]
        return f"data set {self.dataset} ({', '.join(part for part in parts if part)}), one document a row"

    @property
    def identity(self) -> str | None:
        """Hash of the data set's name, configuration, split and revision.

        The content behind a name without ``revision`` may change on the hub, which this cannot see.
        """
        known = (self.dataset, self.config, self.split, self.revision, self.reader.text_column)
        return hashlib.sha256(repr(known).encode()).hexdigest()

    def documents(self, skip: int = 0) -> Iterator[Document]:
        """Yield the documents after the first ``skip``.

        Raises
        ------
        InputError
            The ``datasets`` package is missing, or there is no such data set, configuration or split.
        """
        columns = None
        for index, row in enumerate(self._rows(skip), skip):
            where = f"{self.dataset}:{index + 1}"
            columns = columns or self.reader.columns(row, where)
            record = self.reader.record(row, columns, where)
            yield Document(index, record.id, record.text)

    def _rows(self, skip: int) -> Iterator[dict[str, Any]]:
        try:
            datasets = importlib.import_module("datasets")
        except ImportError:
            raise InputError(
                f'{self.name}: reading data sets of the hub needs the package "datasets".',
                "pip install datasets, or give a local file with --text.",
            ) from None
        if not skip and (away := why_not_reachable()):
            # The library would try for a long time; what was there a while ago may be worth that.
            raise self._out_of_reach(away)
        try:
            rows = datasets.load_dataset(
                self.dataset, self.config, split=self.split, revision=self.revision, streaming=True
            )
        except ValueError as error:  # an unknown configuration or split; the message lists the known
            raise InputError(f"{self.name}: {' '.join(str(error).split())[:300]}") from error
        except ConnectionError as error:
            if skip:
                raise  # it was there a while ago, and may be again
            raise self._out_of_reach(f"the hub cannot be reached ({error})") from error
        except Exception as error:
            # Only looked up by name: the class exists where the package is installed.
            if type(error).__name__ == "DatasetNotFoundError":
                raise InputError(
                    f"{self.name}: not on the hub, or not readable without logging in.",
                    "Check the name; private and gated sets need HF_TOKEN.",
                ) from error
            raise
        iterator = iter(rows.skip(skip) if skip else rows)
        try:
            yield from iterator
        except FileNotFoundError as error:
            # The data set is there: its files seem missing when the connection breaks between requests.
            raise ConnectionError(str(error)) from error
        finally:
            # Left open, its download threads keep the process from ending.
            if callable(close := getattr(iterator, "close", None)):
                close()

    def _out_of_reach(self, why: str) -> InputError:
        return InputError(
            f"{self.name}: {why}.",
            "Check the connection and HF_HUB_OFFLINE, or give a local file with --text.",
        )
