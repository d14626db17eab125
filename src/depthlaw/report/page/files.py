"""Files of a run as a report sees them: where they are for its reader, and whether they are as they were."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from depthlaw.data.manifest import Manifest, record_of
from depthlaw.data.run_folder import path_of


def below(place: str, name: str) -> str:
    """Return a file's path below the folder that is reported, from its run's place and its name there."""
    return name if place == "." else f"{place}/{name}"


def without_home(message: str, home: Path) -> str:
    """Take the run's folder out of an error message: a page names it by its place, and may go to others."""
    return message.replace(f"{home}{os.sep}", "").replace(f"{home} ", "")


def changed_files(home: Path, manifest: Manifest, names: Iterable[str]) -> Iterator[str]:
    """Say which of a run's files are there, but not as it wrote them."""
    for name in names:
        try:
            found = record_of(path_of(home, name))
        except (OSError, ValueError):
            continue  # whoever wanted to read it says so
        if found is not None and found != manifest.files[name]:
            yield f"{name} is not as the run wrote it."
