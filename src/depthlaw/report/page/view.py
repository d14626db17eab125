"""What the template shows of a report: how much of it fits into the page, and the links of its data."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup, escape

from depthlaw.data.jsonio import json_text
from depthlaw.data.manifest import Manifest
from depthlaw.report.page.download import MOST, data_link, units_text
from depthlaw.report.page.drawing import Drawing
from depthlaw.report.page.model import DataTable, Picture, Report, Section
from depthlaw.report.page.typesetting import printed

LONGEST_TEXT = 60_000
"""Characters that one text may take of the page."""


class Room:
    """Bytes that are left for what a page can do without."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> bool:
        """Take ``size`` bytes, if there are as many."""
        if size > self.left:
            return False
        self.left -= size
        return True


@dataclass(frozen=True)
class ShownTable:
    """A table beside a figure.

    Attributes
    ----------
    file
        Name of the CSV file.
    link
        Its content; empty if it is not in the page.
    rows
        Number of rows in it.
    units
        Columns with their units.
    above
        The figure that has the link already; empty if this one has it.
    """

    table: DataTable
    file: str
    link: str = ""
    rows: int = 0
    units: str = ""
    above: str = ""

    @property
    def left_out(self) -> int:
        """Rows that are not in the page."""
        return self.table.n_rows - self.rows


@dataclass(frozen=True)
class ShownPicture:
    """A figure, ``drawing`` being ``None`` where the page has no room for it."""

    id: str
    picture: Picture
    drawing: Drawing | None
    tables: tuple[ShownTable, ...]


@dataclass(frozen=True)
class ShownSection:
    """A section with its text cut to size; ``text_left_out`` counts the lines that are not in the page."""

    section: Section
    text: Markup
    text_left_out: int
    pictures: tuple[ShownPicture, ...]
    tables: tuple[ShownTable, ...]
    settings: Markup


@dataclass(frozen=True)
class Environment:
    """Versions, and the sections that were run with them."""

    versions: dict[str, str | None]
    sections: tuple[Section, ...]


def sections(report: Report, room: Room) -> tuple[ShownSection, ...]:
    """Decide what is in the page: figures and texts before tables, what comes first before what follows."""
    texts = [_text(section.text, room) for section in report.sections]
    settings = [_settings(section.manifest, room) for section in report.sections]
    drawings = [
        [
            picture.drawing if room.take(len(picture.drawing.markup.encode())) else None
            for picture in s.pictures
        ]
        for s in report.sections
    ]
    shown = []
    for section, (text, left_out), config, drawn in zip(
        report.sections, texts, settings, drawings, strict=True
    ):
        above: dict[str, str] = {}
        pictures = []
        for number, (picture, drawing) in enumerate(zip(section.pictures, drawn, strict=True), 1):
            anchor = f"{section.anchor}-figure-{number}"
            tables = tuple(_table(table, room, above.get(table.name, "")) for table in picture.data)
            above |= {table.name: anchor for table in picture.data if table.name not in above}
            pictures.append(ShownPicture(anchor, picture, drawing, tables))
        others = tuple(_table(table, room) for table in section.tables)
        shown.append(ShownSection(section, text, left_out, tuple(pictures), others, config))
    return tuple(shown)


def environments(report: Report) -> tuple[Environment, ...]:
    """Sections by the versions they were run with."""
    found: list[Environment] = []
    for section in report.sections:
        versions = section.manifest.versions
        same = next((i for i, known in enumerate(found) if known.versions == versions), None)
        if same is None:
            found.append(Environment(versions, (section,)))
        else:
            found[same] = Environment(versions, (*found[same].sections, section))
    return tuple(found)


def _text(text: str, room: Room) -> tuple[Markup, int]:
    shown = text[:LONGEST_TEXT]
    if len(text) > LONGEST_TEXT:
        shown = shown[: shown.rfind("\n") + 1]
    markup = printed(shown)
    if not room.take(len(markup.encode(errors="replace"))):
        markup, shown = Markup(), ""
    return markup, len(text.splitlines()) - len(shown.splitlines())


def _settings(manifest: Manifest, room: Room) -> Markup:
    """Write what a run was asked for and ran on, as JSON; empty where there is no room."""
    text = json_text({"config": manifest.config, "identity": manifest.identity})
    markup = escape(text)
    return markup if len(text) <= LONGEST_TEXT and room.take(len(markup)) else Markup()


def _table(table: DataTable, room: Room, above: str = "") -> ShownTable:
    file = table.name.removesuffix(".parquet") + ".csv"
    units = units_text(table)
    if table.withheld or above:
        return ShownTable(table, file, units=units, above=above)
    link, rows = data_link(table, min(MOST, room.left))
    if (rows == 0 and table.n_rows) or not room.take(len(link)):
        return ShownTable(table, file, units=units)
    return ShownTable(table, file, link, rows, units)
