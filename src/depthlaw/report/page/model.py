"""What a report is made of, before it is a page: sections with their figures and tables, warnings, claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from depthlaw.data.manifest import Manifest
from depthlaw.report.page.drawing import Drawing
from depthlaw.reproduce.outcome import Outcome
from depthlaw.reproduce.registry import Experiment


@dataclass(frozen=True)
class DataTable:
    """A table that a reader may want.

    Attributes
    ----------
    name
        Of its file.
    place
        Path of the file below the folder that is reported, with ``/``.
    units
        Unit of every column, in their order; ``"1"`` for a pure number, empty where it is not known.
    n_rows
        Number of rows.
    pieces
        Gives the rows, as pyarrow record batches or tables, from the first on.
    withheld
        Why the rows may not be passed on; empty if they may.
    """

    name: str
    place: str
    units: Mapping[str, str]
    n_rows: int
    pieces: Callable[[], Iterator[Any]]
    withheld: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of a run.

    Attributes
    ----------
    name
        Of its file, without ending.
    place
        Path of the SVG file below the folder that is reported.
    caption
        What is seen, in plain words.
    drawing
        What may be put into a page.
    data
        The tables that are drawn.
    """

    name: str
    place: str
    caption: str
    drawing: Drawing
    data: tuple[DataTable, ...] = ()


@dataclass(frozen=True)
class Section:
    """A run, or an experiment of the paper.

    Attributes
    ----------
    place
        The run folder below the folder that is reported; ``.`` for that folder itself.
    title
        For people.
    manifest
        What the run says about itself.
    experiment
        Its id; empty for a run of another command.
    outcome
        What an experiment found; ``None`` for other runs, and where there is none (yet) or it is damaged.
    problem
        Why an experiment has no outcome; empty otherwise.
    text
        What the command printed; empty if it was not kept.
    pictures, tables
        Figures, and tables that are behind no figure.
    anchor
        Name of the section within the page: letters, digits and hyphens.
    """

    place: str
    title: str
    manifest: Manifest
    experiment: str = ""
    outcome: Outcome | None = None
    problem: str = ""
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    tables: tuple[DataTable, ...] = ()
    anchor: str = ""

    @property
    def scale(self) -> str:
        """How much of an experiment was run; empty for other runs."""
        return str(self.manifest.config.get("scale", "")) if self.experiment else ""


@dataclass(frozen=True)
class Warn:
    """Something to know before reading on.

    Attributes
    ----------
    kind
        ``trouble`` for a run that is not whole, ``note`` for what an experiment says about its own input.
    about
        Folders or experiments.
    message
        One sentence.
    """

    kind: Literal["trouble", "note"]
    about: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Report:
    """Everything on the page.

    Attributes
    ----------
    name
        Of the folder that is reported.
    sections
        Experiments in the order of the registry, then other runs by place.
    not_run
        Experiments that the folder does not hold; empty if it holds none at all.
    warnings
        Troubles first.
    """

    name: str
    sections: tuple[Section, ...]
    not_run: tuple[Experiment, ...] = ()
    warnings: tuple[Warn, ...] = ()

    @property
    def experiments(self) -> tuple[Section, ...]:
        """The sections that are experiments of the paper."""
        return tuple(section for section in self.sections if section.experiment)

    @property
    def runs(self) -> tuple[Section, ...]:
        """The other sections."""
        return tuple(section for section in self.sections if not section.experiment)

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales of the experiments, each once."""
        return tuple(dict.fromkeys(section.scale for section in self.experiments))
