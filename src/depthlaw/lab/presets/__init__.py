"""The paper's protocols by name, each a TOML file of a few lines beside this one."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from depthlaw.data import config as configs
from depthlaw.errors import unknown_name
from depthlaw.lab.config import LabConfig


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets, in alphabetical order."""
    entries = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in entries if name.endswith(".toml")))


def preset_data(name: str) -> dict[str, Any]:
    """Return what a preset's file says, without the defaults.

    Raises
    ------
    UsageError
        For a name that is not a preset's; the nearest is suggested.
    """
    if name not in preset_names():
        raise unknown_name("preset", name, preset_names())
    return tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))


def preset(name: str) -> LabConfig:
    """Return a preset as a configuration; change it with `dataclasses.replace`.

    Raises
    ------
    UsageError
        For a name that is not a preset's; the nearest is suggested.
    """
    return configs.structure(LabConfig, preset_data(name), source=f"preset {name}")
