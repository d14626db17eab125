"""Folders that hold something else than the run that is asked for: refused before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from depthlaw.data.config import differing_keys
from depthlaw.data.files import LOCK, TEMPORARY
from depthlaw.data.manifest import NAME
from depthlaw.data.run_folder import LOG
from depthlaw.errors import ConfigError, cannot_write

_INPUTS = {
    "data": "the table",
    "law": "the law",
    "against": "the law to compare with",
    "model": "the model",
    "text": "the text",
    "prompts": "the prompts",
    "probes": "the probes",
    "students": "the laboratory run",
}
"""What a run was made from. Identities hold hashes of these, which tell a reader nothing."""


def names_in(folder: Path) -> set[str]:
    """Return what a folder holds besides what the store keeps there for itself; nothing if there is none.

    Raises
    ------
    OutputError
        When it cannot be looked into.
    """
    try:
        names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    except OSError as error:
        raise cannot_write(folder, error) from error
    return {name for name in names - {LOCK, LOG} if not name.endswith(TEMPORARY)}


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder with things in it that are not a run's.

    Raises
    ------
    ConfigError
        Before anything is written.
    """
    names = names_in(folder)
    if names and NAME not in names:
        raise foreign(folder, names)


def foreign(folder: Path, names: set[str]) -> ConfigError:
    """Build the error for a folder that is not ours to write into."""
    return ConfigError(
        f"{folder} is not empty and not a run folder (it holds {', '.join(sorted(names)[:3])}).",
        "Choose another --out, or an empty folder.",
    )


def other_run(folder: Path, before: Mapping[str, Any], asked: Mapping[str, Any]) -> ConfigError:
    """Build the error for a folder that holds another run: of another verb, else where the two differ.

    Parameters
    ----------
    before, asked
        What changes results (`Manifest.identity`) of the run that is there and of the one asked for.
    """
    return ConfigError(
        f"{folder} holds {_difference(before, asked)}.",
        "Choose another --out, or start over in this one with --no-resume.",
    )


def _difference(before: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    if before.get("verb") != asked.get("verb"):
        return f"a run of depthlaw {before.get('verb', 'of another version')}"
    found = differing_keys(before, asked)
    changed = dict.fromkeys(_INPUTS[top] for d in found if (top := d.key.partition(".")[0]) in _INPUTS)
    settings = [str(d).removeprefix("config.") for d in found if d.key.partition(".")[0] not in _INPUTS]
    parts = [*(f"{what} changed" for what in changed), *settings]
    more = f" and {len(parts) - 4} more" if len(parts) > 4 else ""
    return f"{'another run' if changed else 'a run with other settings'}: {', '.join(parts[:4])}{more}"
