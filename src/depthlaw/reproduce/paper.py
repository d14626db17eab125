"""The published numbers, from ``paper.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Published:
    """A published number.

    Attributes
    ----------
    value
        In natural units.
    error
        Its published one-sigma error, ``None`` where none is given.
    place
        Where it stands in the paper.
    tolerance
        How far a reproduction may lie off: in standard errors (published, else ours), else relative.
    note
        What to know of it beside the number, one phrase.
    """

    value: float
    place: str
    tolerance: float
    error: float | None = None
    note: str = ""


@cache
def _document() -> Mapping[str, Any]:
    return tomllib.loads(files("depthlaw.reproduce").joinpath("paper.toml").read_text(encoding="utf-8"))


def published(experiment: str) -> dict[str, Published]:
    """All published numbers of an experiment, by quantity."""
    return {name: Published(**entry) for name, entry in _document()[experiment].items()}


def published_points() -> dict[str, dict[str, float]]:
    """Named points of the law, in natural units: parameters, and ``depth_offset`` where depth is shifted."""
    points = {}
    for name, entry in _document()["points"].items():
        point = {k: float(v) for k, v in entry.items() if k != "place"}
        # c·(100·x)^-α = c·100^-α · x^-α, and c·(x/1e6)^-α = c·1e6^α · x^-α.
        point["c_depth"] = point.pop("c_depth_times_100") * 100.0 ** -point["alpha_depth"]
        point["c_tokens"] = point.pop("c_tokens_in_millions") * 1e6 ** point["alpha_tokens"]
        points[name] = point
    return points
