"""An outcome on disk: ``outcome.json`` beside the figures and tables that it names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cattrs.errors import BaseValidationError

from depthlaw.data.manifest import read_manifest
from depthlaw.data.run_folder import path_of
from depthlaw.data.strict import CONVERTER, WrongType, problems_in
from depthlaw.errors import ConfigError, InputError
from depthlaw.reproduce.outcome import (
    Comparison,
    Correction,
    Outcome,
    OutcomeFigure,
    OutcomeTable,
    Verdict,
)

if TYPE_CHECKING:
    from depthlaw.data.store import Run

SCHEMA = 3
NAME = "outcome.json"
_TEXTS = ("id", "title", "input", "reference", "skipped", "failed")


def record(outcome: Outcome) -> dict[str, Any]:
    """All of an outcome but the bytes of its figures and the rows of its tables."""
    return {
        "id": outcome.id,
        "title": outcome.title,
        "input": outcome.input,
        "verdict": outcome.verdict,
        "skipped": outcome.skipped,
        "failed": outcome.failed,
        "comparisons": list(outcome.comparisons),
        "corrections": list(outcome.corrections),
        "reference": outcome.reference,
        "statements": list(outcome.statements),
        "warnings": list(outcome.notices),
        "figures": [
            {"name": name, "caption": figure.caption, "data": list(figure.data), "files": list(figure.files)}
            for name, figure in outcome.figures.items()
        ],
        "tables": [
            {"name": name, "redistribute": table.redistribute, "columns": list(table.rows.column_names)}
            for name, table in outcome.tables.items()
        ],
    }


def write_outcome(run: Run, outcome: Outcome) -> None:
    """Write an outcome into a run folder, ``outcome.json`` last."""
    for figure in outcome.figures.values():
        for name, data in figure.files.items():
            run.write_bytes(name, data)
    for name, table in outcome.tables.items():
        run.write_table(name, table.rows, units=table.units)
    run.write_json(NAME, {"schema": SCHEMA, **record(outcome)})


def was_skipped(folder: Path) -> bool:
    """Whether a folder holds the outcome of an experiment that did not run, as far as it can be read."""
    try:
        return bool(json.loads((folder / NAME).read_bytes())["skipped"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_outcome(folder: str | Path) -> Outcome:
    """Read an outcome back, with its figures and tables.

    Raises
    ------
    InputError
        If the folder holds none, or a file of it is missing or damaged.
    """
    import pyarrow.parquet as pq

    home = Path(folder)
    try:
        kept = json.loads((home / NAME).read_bytes())
        if kept["schema"] != SCHEMA:
            raise InputError(
                f"{home / NAME} has schema {kept['schema']}, this version reads {SCHEMA}.",
                "Make it anew: depthlaw reproduce --no-resume.",
            )
        units = read_manifest(home).units
        return Outcome(
            **{name: _strict(kept[name], str) for name in _TEXTS},
            comparisons=tuple(
                replace(row, verdict=Verdict(row.verdict))
                for row in _strict(kept["comparisons"], tuple[Comparison, ...])
            ),
            corrections=_strict(kept["corrections"], tuple[Correction, ...]),
            statements=_strict(kept["statements"], tuple[str, ...]),
            figures={
                figure["name"]: OutcomeFigure(
                    {name: path_of(home, name).read_bytes() for name in figure["files"]},
                    _strict(figure["caption"], str),
                    _strict(figure["data"], tuple[str, ...]),
                )
                for figure in kept["figures"]
            },
            tables={
                table["name"]: OutcomeTable(
                    pq.read_table(path_of(home, table["name"])),
                    {name: units[name] for name in table["columns"]},
                    _strict(table["redistribute"], bool),
                )
                for table in kept["tables"]
            },
            notices=_strict(kept["warnings"], tuple[str, ...]),
        )
    except (ConfigError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{home} holds no outcome that can be read ({type(error).__name__}: {error}).",
            "Make it anew: depthlaw reproduce --no-resume.",
        ) from error


def _strict(value: Any, hint: Any) -> Any:
    """Take a value of the file for what it must be, or refuse it."""
    try:
        return CONVERTER.structure(value, hint)
    except (BaseValidationError, WrongType) as error:
        raise ValueError(problems_in(error)[0].text.rstrip(".")) from None
