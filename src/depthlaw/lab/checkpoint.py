"""Stopping at any moment and going on bit for bit: signals wait for the end of a step, states are files."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from depthlaw.lab.engine import Array

NAME = "checkpoint.safetensors"


@dataclass
class StopRequest:
    """Whether the user or the system has asked to stop."""

    requested: bool = False


@contextlib.contextmanager
def deferred_signals() -> Iterator[StopRequest]:
    """Turn the first SIGINT or SIGTERM into a request; a second one acts at once.

    A request that the block has not followed becomes `KeyboardInterrupt` at its end.

    Outside the main thread, where signals cannot be handled, it does nothing.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before: dict[int, Any] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        request.requested = True
        _restore(before)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, handle)
    try:
        yield request
    finally:
        _restore(before)
    if request.requested:
        raise KeyboardInterrupt  # it came too late for the block to see it


def _restore(handlers: Mapping[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


class Clock:
    """Says when the next checkpoint is due."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether ``every`` seconds have passed since the last time this was true."""
        now = time.monotonic()
        if now - self._last < self._every:
            return False
        self._last = now
        return True


def to_bytes(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """Write arrays as safetensors; the same arrays give the same bytes."""
    from safetensors.numpy import save

    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    return bytes(save(ordered, dict(metadata)))


def read(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Read a safetensors file: its arrays and its metadata."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        names = list(file.keys())
        return {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
