"""Counts in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural that it needs.

    >>> counted(1, "run"), counted(2, "run"), counted(0, "run")
    ('1 run', '2 runs', '0 runs')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
