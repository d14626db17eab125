"""Finding the run folders in a folder."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from depthlaw.data.manifest import NAME
from depthlaw.errors import InputError

DEEPEST = 4
"""Levels of folders below the one that is given in which runs are looked for."""


def find_runs(root: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """Find the folders with a manifest: ``root`` itself, else those below it; a run's own folders hold none.

    Returns
    -------
    tuple
        The folders, sorted by path, and those that cannot be looked into, each with the reason.

    Raises
    ------
    InputError
        When ``root`` is not there, is a file, cannot be looked into, or holds no run.
    """
    closed: list[tuple[Path, str]] = []
    try:
        if not stat.S_ISDIR(root.stat().st_mode):
            raise InputError(f"{root} is a file, not a folder of runs.", f"Give its folder: {root.parent}")
        found = sorted(_below(root, 0, {root.resolve()}, closed))
    except FileNotFoundError:
        raise InputError(f"{root}: no such folder.", "Give the folder that --out named.") from None
    except OSError as error:
        raise InputError(f"{root} cannot be read: {error.strerror}.", "Look at its permissions.") from None
    if not found:
        raise InputError(
            f"{root} holds no run: no {NAME} in it, nor {DEEPEST} levels below.",
            f"Make one: depthlaw reproduce --scale smoke --out {root}, or any other command with --out.",
        )
    return found, sorted(closed)


def _below(folder: Path, level: int, seen: set[Path], closed: list[tuple[Path, str]]) -> Iterator[Path]:
    try:
        if (folder / NAME).is_file():
            yield folder
            return
        inside = [path for path in folder.iterdir() if not path.name.startswith(".") and path.is_dir()]
    except OSError as error:
        if level == 0:
            raise
        closed.append((folder, error.strerror or str(error)))
        return
    if level == DEEPEST:
        return
    for path in inside:
        real = path.resolve()
        if real not in seen:  # a link may lead to a folder that is listed already, or back up
            seen.add(real)
            yield from _below(path, level + 1, seen, closed)
