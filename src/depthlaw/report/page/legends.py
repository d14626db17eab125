"""Captions and data of the figures that commands draw, from ``figures.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Legend:
    """What a reader needs beside a figure.

    Attributes
    ----------
    caption
        What is seen, in plain words, on one line.
    data
        Patterns of the names of the tables that are drawn.
    input
        Names of those tables that repeat rows of the user's own table.
    """

    caption: str
    data: tuple[str, ...] = ()
    input: tuple[str, ...] = ()


@cache
def _document() -> dict[str, dict[str, Legend]]:
    text = files("depthlaw.report.page").joinpath("figures.toml").read_text(encoding="utf-8")
    return {
        verb: {
            name: Legend(
                " ".join(entry["caption"].split()),
                tuple(entry.get("data", ())),
                tuple(entry.get("input", ())),
            )
            for name, entry in figures.items()
        }
        for verb, figures in tomllib.loads(text).items()
    }


def legends(verb: str) -> Mapping[str, Legend]:
    """Return what is known of a command's figures, by pattern of their names, in the order to show them."""
    return _document().get(verb, {})


def legend(verb: str, figure: str) -> Legend:
    """Return what is known of one figure, by its file name without ending; else no more than its name."""
    found = (known for pattern, known in legends(verb).items() if fnmatchcase(figure, pattern))
    return next(found, Legend(f"The figure {figure} of depthlaw {verb}."))
