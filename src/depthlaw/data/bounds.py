"""The ranges that settings keep to, refused in the same words everywhere."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from depthlaw.errors import UsageError

LARGEST = 10**9
"""Nobody means more of anything that is counted; beyond, machine integers and memory end."""


def check_counts(config: Any, least: int, *names: str) -> None:
    """Refuse whole numbers below ``least`` or beyond all sense.

    Parameters
    ----------
    config
        A config dataclass.
    names
        Its fields, with dots for nested ones. ``None`` and texts such as ``"auto"`` pass; of a tuple every
        item is checked.

    Raises
    ------
    UsageError
        For the first that is out of range.
    """
    for name in names:
        for value in _items(attrgetter(name)(config)):
            if isinstance(value, int):
                check_count(name, value, least)


def check_count(name: str, value: int, least: int) -> None:
    """Refuse one whole number below ``least`` or beyond all sense.

    Raises
    ------
    UsageError
        If it is.
    """
    if value < least:
        raise UsageError(f"{name} must be at least {least}, not {value}.")
    if value > LARGEST:
        raise UsageError(f"{name} must be at most {LARGEST:,}, not {value}.")


def check_positive(config: Any, *names: str) -> None:
    """Refuse numbers that are zero, negative, infinite or NaN; names as in `check_counts`.

    Raises
    ------
    UsageError
        For the first of them.
    """
    for name in names:
        for value in _items(attrgetter(name)(config)):
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"{name} must be positive and finite, not {value:g}.")


def check_finite(config: Any, *names: str) -> None:
    """Refuse numbers that are infinite or NaN; names as in `check_counts`.

    Raises
    ------
    UsageError
        For the first of them.
    """
    for name in names:
        for value in _items(attrgetter(name)(config)):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"{name} must be finite, not {value:g}.")


def check_level(level: float | None) -> None:
    """Refuse what is no confidence level; ``None`` stands for one that is known elsewhere.

    Raises
    ------
    UsageError
        For less than a half, one, and more.
    """
    if level is not None and not 0.5 <= level < 1.0:
        raise UsageError(f"level {level:g} is not a confidence level.", "Use a share such as 0.95.")


def _items(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)
