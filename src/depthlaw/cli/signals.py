"""Signals that ask a command to end: all of them end it as Ctrl-C does, with what run folders hold kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

_NAMES = ("SIGTERM", "SIGHUP")
"""What schedulers, containers and closed terminals send."""


@contextlib.contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Turn these signals into `KeyboardInterrupt` for the length of a block.

    Signals that someone else handles or ignores (``nohup``) are left alone, and so are all outside the main
    thread, where Python cannot handle them.
    """
    taken = []
    if threading.current_thread() is threading.main_thread():
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)
                taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
