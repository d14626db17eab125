"""Files of a run as a report sees them: where they are for its reader, and whether they are as they were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from depthlaw.data.manifest import Manifest, record_of
from depthlaw.data.run_folder import path_of

MOST = 5
"""Files that a warning names."""


def below(place: str, name: str) -> str:
    """Return a file's path below the folder that is reported, from its run's place and its name there."""
    return name if place == "." else f"{place}/{name}"


def without_home(message: str, home: Path) -> str:
    """Take the run's folder out of an error message: a page names it by its place, and may go to others."""
    return message.replace(f"{home}{os.sep}", "").replace(f"{home} ", "")


def changed_files(home: Path, manifest: Manifest) -> Iterator[str]:
    """Say which of a run's files have gone, and which are not as it wrote them.

    Of a run that may still be writing, only what has gone.
    """
    gone, changed = [], []
    for name, record in manifest.files.items():
        try:
            found = record_of(path_of(home, name))
        except (OSError, ValueError):
            continue  # whoever wanted to read it says so
        if found is None:
            gone.append(name)
        elif found != record and manifest.status != "running":
            changed.append(name)
    if gone:
        yield f"{_listed(gone)} {'is' if len(gone) == 1 else 'are'} missing."
    if changed:
        them = "is not as the run wrote it" if len(changed) == 1 else "are not as the run wrote them"
        yield f"{_listed(changed)} {them}."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{', '.join(names[:MOST])}{more}"
