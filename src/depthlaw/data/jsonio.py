"""Results as JSON: the one place where dataclasses, arrays and paths become text.

Strict JSON only: what JSON has no word for (NaN, infinities) is ``null``; floats keep their shortest exact
form, so that reading a number back gives the same bits.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any


def plain(obj: Any, *, nonfinite: Callable[[float], Any] = lambda _: None) -> Any:
    """Reduce ``obj`` to what JSON knows: dicts with text keys, lists, text, numbers, booleans, ``None``.

    Parameters
    ----------
    obj
        Dataclasses, mappings, lists, tuples, enums, paths, NumPy scalars and arrays (anything with
        ``tolist``), in any nesting.
    nonfinite
        What to write for NaN and the infinities; the default writes ``None``.

    Raises
    ------
    TypeError
        For anything else, sets and complex numbers among them: their JSON form would be a guess.
    """
    again: Callable[[Any], Any] = lambda item: plain(item, nonfinite=nonfinite)  # noqa: E731
    if isinstance(obj, Enum):
        return again(obj.value)
    if obj is None or isinstance(obj, bool | str):
        return obj
    if isinstance(obj, int):
        return int(obj)
    if isinstance(obj, float):
        return float(obj) if math.isfinite(obj) else nonfinite(float(obj))
    if isinstance(obj, PurePath):
        return str(obj)
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return {field.name: again(getattr(obj, field.name)) for field in dataclasses.fields(obj)}
    if isinstance(obj, Mapping):
        if wrong := [key for key in obj if not isinstance(key, str)]:
            raise TypeError(f"JSON keys are text, not {type(wrong[0]).__name__}: {wrong[0]!r}")
        return {str(key): again(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [again(item) for item in obj]
    # NumPy scalars and arrays, without importing NumPy to ask.
    if callable(getattr(obj, "tolist", None)):
        return again(obj.tolist())
    raise TypeError(f"{type(obj).__name__} has no JSON form: {obj!r}")


def json_text(obj: Any) -> str:
    """Write ``obj`` as indented JSON with a final newline, in ASCII so that any terminal can show it.

    Raises
    ------
    TypeError
        When ``obj`` holds something without a JSON form (see `plain`).
    """
    return json.dumps(plain(obj), indent=2, allow_nan=False) + "\n"


def canonical_json(obj: Any) -> str:
    """Write ``obj`` in its one canonical form, for hashing and comparing.

    Keys are sorted, and NaN and the infinities are kept apart (as text) where `json_text` writes ``null``.

    Raises
    ------
    TypeError
        When ``obj`` holds something without a JSON form (see `plain`).
    """
    return json.dumps(plain(obj, nonfinite=str), sort_keys=True, separators=(",", ":"), allow_nan=False)


def json_fault(error: Exception) -> str:
    """Say in a few words what is wrong with a line of JSON, and at which character of it."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at').lower()} at character {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
