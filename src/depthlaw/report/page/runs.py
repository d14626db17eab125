"""The section of a run of any command: what it printed, drew and tabulated."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from depthlaw.data.manifest import Manifest
from depthlaw.data.run_folder import LOG, path_of
from depthlaw.report.page.drawing import drawing
from depthlaw.report.page.files import below, changed_files
from depthlaw.report.page.legends import legend, legends
from depthlaw.report.page.model import DataTable, Picture, Section

INPUT = "it repeats rows of the table that was given, and a report cannot know whether they may be passed on"

PIECE = 1000
"""Rows of a table that are read at a time."""


def run_section(home: Path, place: str, manifest: Manifest, prefix: str) -> tuple[Section, list[str]]:
    """Read a run; what is wrong with it is returned beside it, one sentence each.

    Tables in folders of the run are pieces of others or one row a token, and left out.

    Parameters
    ----------
    prefix
        For the ids of its figures.
    """
    troubles: list[str] = []
    tables = _tables(home, place, manifest, troubles)
    pictures = _pictures(home, place, manifest, tables, prefix, troubles)
    texts = []
    for name in manifest.files:
        if name.endswith(".txt") and name != LOG:
            try:
                texts.append(path_of(home, name).read_text(encoding="utf-8", errors="replace"))
            except FileNotFoundError:
                continue  # `changed_files` says so
            except (OSError, ValueError) as error:
                troubles.append(f"the text {name} cannot be read: {_said(error)}.")
    drawn = {table.name for picture in pictures for table in picture.data}
    section = Section(
        place,
        home.resolve().name if place == "." else place,
        manifest,
        text="\n".join(texts).strip("\n"),
        pictures=tuple(pictures),
        tables=tuple(table for name, table in tables.items() if name not in drawn),
    )
    return section, [*troubles, *changed_files(home, manifest)]


def _pictures(
    home: Path, place: str, manifest: Manifest, tables: dict[str, DataTable], prefix: str, troubles: list[str]
) -> list[Picture]:
    order = list(legends(manifest.verb).values())
    known = {name: legend(manifest.verb, PurePosixPath(name).stem) for name in manifest.files}
    names = [name for name in manifest.files if name.endswith(".svg")]
    names.sort(key=lambda name: order.index(known[name]) if known[name] in order else len(order))
    pictures = []
    for number, name in enumerate(names, 1):
        try:
            drawn = drawing(path_of(home, name).read_bytes(), f"{prefix}{number}-")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            troubles.append(f"the figure {name} cannot be shown: {_said(error)}.")
            continue
        patterns = known[name].data
        data = [table for file, table in tables.items() if any(fnmatchcase(file, p) for p in patterns)]
        stem = PurePosixPath(name).stem
        pictures.append(Picture(stem, below(place, name), known[name].caption, drawn, tuple(data)))
    return pictures


def _tables(home: Path, place: str, manifest: Manifest, troubles: list[str]) -> dict[str, DataTable]:
    given = {name for found in legends(manifest.verb).values() for name in found.input}
    tables = {}
    for name in manifest.files:
        if name.endswith(".parquet") and "/" not in name:
            try:
                tables[name] = _table(home, place, name, manifest, INPUT if name in given else "")
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                troubles.append(f"the table {name} cannot be read: {_said(error)}.")
    return tables


def _table(home: Path, place: str, name: str, manifest: Manifest, withheld: str) -> DataTable:
    import pyarrow.parquet as pq

    path = path_of(home, name)
    with pq.ParquetFile(path) as file:
        columns, n_rows = file.schema_arrow.names, file.metadata.num_rows

    def pieces() -> Iterator[Any]:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=PIECE)

    units = {column: manifest.units.get(column, "") for column in columns}
    return DataTable(name, below(place, name), units, n_rows, pieces, withheld)


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)  # pyarrow's own words name the machine's folders
    return " ".join(str(error).split()).rstrip(".")
