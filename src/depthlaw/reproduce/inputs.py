"""What an experiment would run on here: it decides whether a kept outcome still holds."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping

from depthlaw.data.datasets import DATASETS, find_dataset
from depthlaw.errors import InputError, OutputError
from depthlaw.reproduce import fig6
from depthlaw.reproduce.probe_inputs import identity, text_identity
from depthlaw.reproduce.registry import Scale


def _chinchilla(scale: Scale) -> str:
    try:
        find_dataset("chinchilla", download=scale != "smoke")
    except (InputError, OutputError):
        return "none"
    return DATASETS["chinchilla"].sha256


def _torch(_: Scale) -> str:
    return "installed" if importlib.util.find_spec("torch") else "none"


SOURCES: Mapping[str, Callable[[Scale], str]] = {
    "chinchilla": _chinchilla,
    "models": identity,
    "text": text_identity,
    "torch": _torch,
    "traced": fig6.identity,
}
"""What an experiment may need, and how to tell one from another; ``"none"`` for what is not here."""


def inputs(needs: tuple[str, ...], scale: Scale) -> dict[str, str]:
    """Name what is on this machine of what an experiment needs; fetched if the scale is one that fetches."""
    return {need: SOURCES[need](scale) for need in needs}
