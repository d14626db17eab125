"""Captions of figures, from ``captions.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def _document() -> dict[str, str]:
    text = files("depthlaw.reproduce").joinpath("captions.toml").read_text(encoding="utf-8")
    return {name: " ".join(caption.split()) for name, caption in tomllib.loads(text).items()}


def caption(experiment: str) -> str:
    """What an experiment's figure shows, in plain words and on one line."""
    return _document()[experiment]
