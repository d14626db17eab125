"""How far a long pass is: a line that is rewritten on a terminal, else one every 30 seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from depthlaw.cli.output import note

_EVERY = 30.0


def counter(form: str) -> Callable[[int, int], None]:
    """Return what is told two counts and now and then says them.

    Parameters
    ----------
    form
        With two places: ``"{} documents, {} tokens"``.
    """
    last = time.monotonic()
    terminal = sys.stderr.isatty()

    def tell(first: int, second: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < (0.5 if terminal else _EVERY):
            return
        last = now
        if terminal:
            sys.stderr.write(f"\r{form.format(first, second)}\x1b[K")
            sys.stderr.flush()
        else:
            note(form.format(first, second))

    return tell


def quiet_libraries() -> None:
    """Keep the libraries' own progress bars off anything but a terminal."""
    if not sys.stderr.isatty():
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
