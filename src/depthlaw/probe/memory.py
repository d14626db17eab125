"""How many rows fit: an estimate, a trial, and what to do when it was wrong."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch

from depthlaw.errors import InputError

if TYPE_CHECKING:
    from depthlaw.models import LanguageModel

_MOST_ROWS = {"cpu": 16}
_MOST_ROWS_ELSEWHERE = 128


def out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that memory ran out, on whatever device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    said = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in said or "can't allocate memory" in said)


def bytes_per_token(depth: int, width: int, itemsize: int, *, lens: bool) -> int:
    """Estimate what one token of a batch takes while it is measured, logits aside.

    States are held twice (captured, and those that count), a block's own temporaries come to some twenty
    widths, and a lens through the last block holds one more set of states.
    """
    sets = 3 if lens else 2
    return (sets * (depth + 1) + 20) * width * max(itemsize, 2)


def likely_batch_size(lm: LanguageModel, max_length: int, *, lens: bool) -> int:
    """Return the power of two of rows that should take a quarter of what memory is free, at least 1."""
    row = bytes_per_token(lm.depth, lm.width, lm.dtype.itemsize, lens=lens) * max_length
    most = _MOST_ROWS.get(lm.device.type, _MOST_ROWS_ELSEWHERE)
    rows = max(1, min(most, free_memory(lm.device) // 4 // row))
    return int(2 ** int(np.log2(rows)))


def free_memory(device: torch.device) -> int:
    """Bytes free on ``device``; 4 GiB when that cannot be known."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "cpu":
        try:
            with open("/proc/meminfo", encoding="ascii") as lines:
                known = dict(line.split(":", 1) for line in lines)
            return int(known["MemAvailable"].split()[0]) * 1024
        except (OSError, KeyError, ValueError):
            pass
        try:
            return int(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (OSError, ValueError, AttributeError):
            pass
    return 4 << 30


def fitting_batch_size(start: int, attempt: Callable[[int], object]) -> int:
    """Halve from ``start`` until ``attempt`` of so many rows does not run out of memory.

    Raises
    ------
    InputError
        When not even one row fits.
    """
    rows = start
    while True:
        try:
            attempt(rows)
        except Exception as error:
            if not out_of_memory(error):
                raise
            if rows == 1:
                raise InputError(
                    "not even one row of the longest length fits into memory.",
                    "Lower --max-length, or use a smaller --dtype or model.",
                ) from error
        else:
            return rows
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        rows //= 2


def give_back() -> None:
    """Return memory that is free to the system, where the C library can.

    States of a batch are freed as a whole, but batches have many shapes: what is left between them is of no
    use to the next, and the process grows by it with every shape that is new.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # not glibc, or not a Unix
        return None
    return found
