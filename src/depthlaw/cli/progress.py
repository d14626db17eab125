"""How far long work is: a line that is rewritten on a terminal, else one every 30 seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from depthlaw.cli.output import note

EVERY = 30.0
"""Seconds between plain lines."""
_REWRITE = 0.5


class NowAndThen:
    """Says a line when it is time for one; used as a context manager it also wipes the terminal's line."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = time.monotonic()
        self._wipe = False

    def say(self, words: Callable[[], str]) -> None:
        """Say what ``words`` returns, if it is time."""
        now = time.monotonic()
        if now - self._last < (_REWRITE if self._terminal else EVERY):
            return
        self._last = now
        if self._terminal:
            sys.stderr.write(f"\r{words()}\x1b[K")
            sys.stderr.flush()
            self._wipe = True
        else:
            note(words())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wipe:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Counter(NowAndThen):
    """Is told two counts and now and then says them.

    Parameters
    ----------
    form
        With two places, and ``{rate}`` for the second count per second if wished: ``"{} documents, {} tokens,
        {rate:.0f} tokens/s"``.
    """

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form, self._started = form, time.monotonic()

    def __call__(self, first: float, second: int) -> None:
        """Say the counts, if it is time."""
        rate = second / max(time.monotonic() - self._started, 1e-9)
        self.say(lambda: self._form.format(first, second, rate=rate))
