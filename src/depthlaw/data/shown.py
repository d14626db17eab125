"""How results look at a Python prompt: one line, whatever they hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sized
from typing import Any

LONGEST = 300
"""Characters of a line, and of a text within it a sixth of that."""


class Shown:
    """Base of results: the class, and in a few words what it holds; for all of it there is `to_table`."""

    def __repr__(self) -> str:
        words = " ".join(self.in_short().split())
        words = words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
        return f"{type(self).__name__}({words})"

    def in_short(self) -> str:
        """What it holds: fields by name, arrays by their shape, other collections by their length."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return ", ".join(f"{field.name}={_word(getattr(self, field.name))}" for field in fields)


def _word(value: Any) -> str:
    if isinstance(value, bool | None):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        text = repr(str(value))
        return text if len(text) <= LONGEST // 6 else f"{text[: LONGEST // 6]}…"
    if hasattr(value, "shape"):
        return f"<{' × '.join(map(str, value.shape)) or 'number'}>"
    if isinstance(value, Mapping):
        return f"{{{', '.join(list(map(str, value))[:4])}{', …' if len(value) > 4 else ''}}}"
    if isinstance(value, Sized):
        return f"[{len(value)}]"
    return type(value).__name__
