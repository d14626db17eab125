"""The section of an experiment: its outcome, read back from the run folder."""

from __future__ import annotations

from pathlib import Path

from depthlaw.data.manifest import Manifest
from depthlaw.errors import InputError
from depthlaw.report.page.drawing import drawing
from depthlaw.report.page.files import below, changed_files, without_home
from depthlaw.report.page.model import DataTable, Picture, Section
from depthlaw.reproduce.keeping import read_outcome
from depthlaw.reproduce.outcome import Outcome, OutcomeTable
from depthlaw.reproduce.registry import EXPERIMENTS

NO_LICENCE = "its rows come from a source that states no licence, so that they may not be passed on"


def experiment_section(home: Path, place: str, manifest: Manifest, prefix: str) -> tuple[Section, list[str]]:
    """Read an experiment; what is wrong with it is returned beside it, one sentence each.

    Parameters
    ----------
    prefix
        For the ids of its figures.
    """
    name = str(manifest.config.get("experiment", home.name))
    title = next((e.title for e in EXPERIMENTS if e.id == name), name)
    if manifest.status in ("running", "interrupted"):
        return Section(place, title, manifest, name, problem="did not come to its end"), []
    try:
        outcome = read_outcome(home)
    except InputError as error:
        problem = without_home(error.message, home).rstrip(".")
        said = " ".join(without_home(str(error), home).split())
        return Section(place, title, manifest, name, problem=problem), [said]
    tables = {file: _table(file, place, table) for file, table in outcome.tables.items()}
    troubles: list[str] = []
    pictures = _pictures(outcome, place, tables, prefix, troubles)
    drawn = {table.name for picture in pictures for table in picture.data}
    section = Section(
        place,
        outcome.title or title,
        manifest,
        name,
        outcome=outcome,
        pictures=tuple(pictures),
        tables=tuple(table for file, table in tables.items() if file not in drawn),
    )
    return section, [*troubles, *changed_files(home, manifest)]


def _pictures(
    outcome: Outcome, place: str, tables: dict[str, DataTable], prefix: str, troubles: list[str]
) -> list[Picture]:
    pictures = []
    for number, (name, figure) in enumerate(outcome.figures.items(), 1):
        file = next((file for file in figure.files if file.endswith(".svg")), "")
        try:
            drawn = drawing(figure.files.get(file, b""), f"{prefix}{number}-")
        except ValueError as error:
            troubles.append(f"the figure {file or name} cannot be shown: {error}.")
            continue
        data = tuple(tables[table] for table in figure.data if table in tables)
        pictures.append(Picture(name, below(place, file), figure.caption, drawn, data))
    return pictures


def _table(file: str, place: str, table: OutcomeTable) -> DataTable:
    withheld = "" if table.redistribute else NO_LICENCE
    rows = table.rows
    return DataTable(file, below(place, file), table.units, rows.num_rows, lambda: iter([rows]), withheld)
