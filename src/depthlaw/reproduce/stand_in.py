"""Models and text to take when those of the paper cannot be had: whatever is on this machine."""

from __future__ import annotations

import math
from pathlib import Path

from depthlaw.places import folders, model_folders

TEXTS = ("text/web_c4.jsonl", "text/tinystories.txt")
"""Where text may lie below ``$DEPTHLAW_DATA``; web text first, as the paper's is."""


def local_models(largest: float = math.inf) -> list[Path]:
    """Model folders of our cache, then of ``$DEPTHLAW_MODELS``, in the order of their names.

    Parameters
    ----------
    largest
        Bytes that the files of a model may have.
    """
    places = {
        path.name: path
        for root in model_folders()
        if root.is_dir()
        for path in sorted(root.iterdir(), reverse=True)
        if (path / "config.json").is_file() and size_of(path) <= largest
    }
    return list(reversed(places.values()))


def local_model() -> Path | None:
    """The first of `local_models`; ``None`` when there is none."""
    return next(iter(local_models()), None)


def size_of(model: Path) -> int:
    """Bytes of the files of a model folder."""
    return sum(file.stat().st_size for file in model.iterdir() if file.is_file())


def local_text() -> Path | None:
    """The first text of `TEXTS` that is there; ``None`` when there is none."""
    root = folders()["DEPTHLAW_DATA"]
    places = [root / name for name in TEXTS] if root is not None else []
    return next((place for place in places if place.is_file()), None)
