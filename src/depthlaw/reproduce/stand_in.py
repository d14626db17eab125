"""Models and text to take when those of the paper cannot be had: whatever is on this machine."""

from __future__ import annotations

from pathlib import Path

from depthlaw.places import folders, model_folders

TEXTS = ("text/web_c4.jsonl", "text/tinystories.txt")
"""Where text may lie below ``$DEPTHLAW_DATA``; web text first, as the paper's is."""


def local_model() -> Path | None:
    """The first model folder of our cache, else of ``$DEPTHLAW_MODELS``; ``None`` when there is none."""
    for root in reversed(model_folders()):
        for path in sorted(root.iterdir()) if root.is_dir() else ():
            if (path / "config.json").is_file():
                return path
    return None


def local_text() -> Path | None:
    """The first text of `TEXTS` that is there; ``None`` when there is none."""
    root = folders()["DEPTHLAW_DATA"]
    places = [root / name for name in TEXTS] if root is not None else []
    return next((place for place in places if place.is_file()), None)
