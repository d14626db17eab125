"""What an experiment would run on here: it decides whether a kept outcome still holds."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path

from depthlaw.data.datasets import DATASETS, find_dataset
from depthlaw.errors import InputError, OutputError
from depthlaw.reproduce.registry import Scale
from depthlaw.reproduce.stand_in import local_model, local_text


def _chinchilla(scale: Scale) -> str:
    try:
        find_dataset("chinchilla", download=scale != "smoke")
    except (InputError, OutputError):
        return "none"
    return DATASETS["chinchilla"].sha256


def _file(path: Path | None) -> str:
    return "none" if path is None else f"{path.name}, {path.stat().st_size} bytes"


def _model(_: Scale) -> str:
    place = local_model()
    if place is None:
        return "none"
    return f"{place.name}, {sum(file.stat().st_size for file in place.iterdir() if file.is_file())} bytes"


def _torch(_: Scale) -> str:
    return "installed" if importlib.util.find_spec("torch") else "none"


SOURCES: Mapping[str, Callable[[Scale], str]] = {
    "chinchilla": _chinchilla,
    "model": _model,
    "text": lambda _: _file(local_text()),
    "torch": _torch,
}
"""What an experiment may need, and how to tell one from another; ``"none"`` for what is not here."""


def inputs(needs: tuple[str, ...], scale: Scale) -> dict[str, str]:
    """Name what is on this machine of what an experiment needs; fetched if the scale is one that fetches."""
    return {need: SOURCES[need](scale) for need in needs}
