"""Random streams: one seed, a stream for every purpose, and batches that depend on nothing but their number.

Every stream is named by (seed, replicate, purpose, …), so that adding a depth or a temperature changes
no other network, and the batch of a step is the same whatever engine, machine or interruption came before.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Purpose(IntEnum):
    """What a stream is for. The numbers are part of every result: never change them."""

    TEACHER_SHARED = 0
    TEACHER_OWN = 1
    TEACHER_HEAD = 2
    STUDENT = 3
    TRAINING = 4
    TEST = 5
    RESAMPLING = 6
    FINGERPRINT = 7
    PLANS = 8


def generator(seed: int, replicate: int, purpose: Purpose, *more: int) -> np.random.Generator:
    """Return the generator of a purpose; ``more`` tells apart what has the same purpose."""
    return np.random.Generator(np.random.Philox(_sequence(seed, replicate, purpose, *more)))


def _sequence(seed: int, replicate: int, purpose: Purpose, *more: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(replicate, int(purpose), *more))


class Batches:
    """Normal inputs by number, from a counter-based generator: any batch can be made without those before.

    Parameters
    ----------
    purpose
        ``TRAINING``, ``TEST``, ``FINGERPRINT`` or ``PLANS``.
    shape
        (batch, width) of one.
    """

    def __init__(self, seed: int, replicate: int, purpose: Purpose, shape: tuple[int, int]) -> None:
        self._key = _sequence(seed, replicate, purpose).generate_state(2, np.uint64)
        self._shape = shape

    def __call__(self, number: int, part: int = 0) -> NDArray[np.float32]:
        """Return batch ``number`` (its part ``part``), (batch, width) standard normal."""
        # A batch uses far fewer than 2^64 blocks of the counter's low words, so streams never meet.
        bits = np.random.Philox(key=self._key, counter=np.array([0, 0, part, number], np.uint64))
        return np.random.Generator(bits).standard_normal(self._shape, dtype=np.float32)
