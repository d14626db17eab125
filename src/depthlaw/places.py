"""Where data, models and the cache are looked for."""

from __future__ import annotations

import os
from pathlib import Path


def folders() -> dict[str, Path | None]:
    """Return where data is looked for, by environment variable; ``None`` where it is not set.

    ``DEPTHLAW_CACHE`` always has a value: without the variable it is ``depthlaw`` in the user's cache.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "depthlaw"
    names = ("DEPTHLAW_DATA", "DEPTHLAW_MODELS", "DEPTHLAW_CACHE")
    found = {name: Path(value).expanduser() if (value := os.environ.get(name)) else None for name in names}
    return found | {"DEPTHLAW_CACHE": found["DEPTHLAW_CACHE"] or cache}


def model_folders() -> list[Path]:
    """Return where models are looked for by name: ``$DEPTHLAW_MODELS``, then ``models`` in our cache."""
    found = folders()
    cache = found["DEPTHLAW_CACHE"]
    return [place for place in (found["DEPTHLAW_MODELS"], cache and cache / "models") if place is not None]
