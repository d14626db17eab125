"""Runs behind several figures: kept in the cache, made anew where what is there no longer serves."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from depthlaw.errors import ConfigError

log = logging.getLogger(__name__)

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

SAY_EVERY = 30.0
"""Seconds between two reports of progress to the log."""


class Resumable(Protocol[T_co]):
    """A call that goes on with what its folder holds, or starts over."""

    def __call__(self, *, resume: bool) -> T_co:
        """Run."""
        ...


def kept_or_anew(out: Path, run: Resumable[T]) -> T:
    """Go on with what ``out`` holds; start over where that has other settings, another model, another text.

    Raises
    ------
    ConfigError
        When the folder can be neither used nor emptied. Nobody named it: the way out is to delete it.
    """
    try:
        return run(resume=True)
    except ConfigError as other:
        log.info("%s; it is made anew", other.message.splitlines()[0].rstrip("."))
    try:
        return run(resume=False)
    except ConfigError as error:
        raise ConfigError(error.message, f"It is in the cache: delete {out}.") from error


def seldom(say: Callable[..., None]) -> Callable[..., None]:
    """Pass on to ``say`` no more than one call in `SAY_EVERY` seconds, the first one after as many."""
    said = time.monotonic()

    def progress(*state: object) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= SAY_EVERY:
            said = now
            say(*state)

    return progress
