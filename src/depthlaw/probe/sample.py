"""A sample of tokens of bounded size that does not depend on how the pass was cut into batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.numerics.streaming import Mergeable
from depthlaw.probe.seen import Floats, Seen


@dataclass(frozen=True)
class TokenSample(Mergeable):
    """Tokens with the smallest hash of document and position, in the order of document and position.

    Attributes
    ----------
    document, position, token_id
        (tokens,) int64.
    is_first, is_special
        (tokens,) bool.
    theta_state
        (tokens, layers) float32, radians.
    """

    document: NDArray[np.int64]
    position: NDArray[np.int64]
    token_id: NDArray[np.int64]
    is_first: NDArray[np.bool_]
    is_special: NDArray[np.bool_]
    theta_state: Floats

    @classmethod
    def of(cls, seen: Seen) -> TokenSample:
        """Take all tokens of a batch."""
        return cls(
            seen.document,
            seen.position,
            seen.token_id,
            seen.is_first,
            seen.is_special,
            seen.columns["theta_state"],
        )

    def merge(self, other: TokenSample) -> TokenSample:
        """Join two disjoint samples; `cut` bounds the size."""
        pairs = {name: (value, other.arrays()[name]) for name, value in self.arrays().items()}
        return TokenSample(**{name: np.concatenate(pair) for name, pair in pairs.items()})

    def cut(self, size: int) -> TokenSample:
        """Keep at most ``size`` tokens, those with the smallest hash."""
        chosen = np.arange(len(self.document))
        if len(chosen) > size:
            chosen = np.argpartition(priority(self.document, self.position), size)[:size]
        chosen = chosen[np.lexsort((self.position[chosen], self.document[chosen]))]
        return TokenSample(**{name: value[chosen] for name, value in self.arrays().items()})


def priority(document: ArrayLike, position: ArrayLike) -> NDArray[np.uint64]:
    """Hash (document, position) to 64 bits that look random (SplitMix64); the same everywhere."""
    with np.errstate(over="ignore"):
        x = np.asarray(document, dtype=np.uint64) << np.uint64(24)
        x = (x ^ np.asarray(position, dtype=np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed
