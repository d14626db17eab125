"""From a folder to a report: every run is read, and what is wrong with one becomes a warning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from depthlaw.data.manifest import Manifest, read_manifest
from depthlaw.errors import ConfigError
from depthlaw.report.page.experiments import experiment_section
from depthlaw.report.page.files import without_home
from depthlaw.report.page.find import find_runs
from depthlaw.report.page.model import Report, Section, Warn
from depthlaw.report.page.runs import run_section
from depthlaw.reproduce.registry import EXPERIMENTS

_PLACES = {experiment.id: place for place, experiment in enumerate(EXPERIMENTS)}


def gather(folder: str | Path) -> Report:
    """Read everything that a folder of runs holds, or a single run folder.

    Parameters
    ----------
    folder
        What ``--out`` named, or a folder above several of those.

    Raises
    ------
    InputError
        When there is no such folder, or no run in it.
    """
    root = Path(folder)
    homes, closed = find_runs(root)
    warnings = [
        Warn("trouble", (_place(root, home),), f"cannot be looked into: {why}.") for home, why in closed
    ]
    sections = []
    for number, home in enumerate(homes, 1):
        place = _place(root, home)
        whose = root.resolve().name if place == "." else place
        try:
            manifest = read_manifest(home)
        except ConfigError as error:
            warnings.append(Warn("trouble", (whose,), without_home(error.message, home)))
            continue
        read = experiment_section if manifest.verb == "reproduce" else run_section
        section, troubles = read(home, place, manifest, f"f{number}-")
        sections.append(section)
        warnings += [Warn("trouble", (whose,), said) for said in (*_unfinished(manifest), *troubles)]
    sections.sort(key=_rank)
    held = {section.experiment for section in sections} - {""}
    return Report(
        name=root.resolve().name,
        sections=tuple(_anchored(sections)),
        not_run=tuple(e for e in EXPERIMENTS if e.id not in held) if held else (),
        warnings=(*warnings, *_notes(sections)),
    )


def _place(root: Path, home: Path) -> str:
    return home.relative_to(root).as_posix()


def _rank(section: Section) -> tuple[bool, int, str, str]:
    return (
        not section.experiment,
        _PLACES.get(section.experiment, len(_PLACES)),
        section.scale,
        section.place,
    )


def _unfinished(manifest: Manifest) -> Iterator[str]:
    if manifest.status == "running":
        yield f"is not finished: it is still running, or was killed (started {manifest.started})."
    elif manifest.status == "interrupted":
        yield "was interrupted; the same command goes on where it stopped."
    elif manifest.status == "failed":
        yield f"failed: {manifest.error or 'the reason was not kept'}"


def _anchored(sections: list[Section]) -> Iterator[Section]:
    """Name the sections: an experiment by its id, everything else by its number."""
    used: set[str] = set()
    for number, section in enumerate(sections, 1):
        known = section.experiment in _PLACES and section.experiment not in used
        anchor = section.experiment if known else f"run-{number}"
        used.add(anchor)
        yield replace(section, anchor=anchor)


def _notes(sections: list[Section]) -> Iterator[Warn]:
    """What experiments say about their input and what it is held against, once with all that say it."""
    about: dict[str, list[str]] = {}
    for section in sections:
        outcome = section.outcome
        known = (outcome.reference, *outcome.notices) if outcome else ()
        for said in filter(None, known):
            about.setdefault(said, []).append(section.experiment)
    for message, ids in about.items():
        yield Warn("note", tuple(dict.fromkeys(ids)), message)
