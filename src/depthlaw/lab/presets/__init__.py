"""The paper's protocols by name, each a TOML file of a few lines beside this one."""

from __future__ import annotations

from importlib.resources import files

from depthlaw.data import config as configs
from depthlaw.errors import unknown_name
from depthlaw.lab.config import LabConfig


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets, in alphabetical order."""
    entries = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in entries if name.endswith(".toml")))


def preset_text(name: str) -> str:
    """Return a preset's TOML text.

    Raises
    ------
    UsageError
        For a name that is not a preset's; the nearest is suggested.
    """
    if name not in preset_names():
        raise unknown_name("preset", name, preset_names())
    return (files(__package__) / f"{name}.toml").read_text(encoding="utf-8")


def preset(name: str) -> LabConfig:
    """Return a preset as a configuration; change it with `dataclasses.replace`.

    Raises
    ------
    UsageError
        For a name that is not a preset's; the nearest is suggested.
    """
    return configs.loads(LabConfig, preset_text(name), source=f"preset {name}")
