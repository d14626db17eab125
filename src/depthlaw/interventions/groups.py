"""Functional groups as numbers: contiguous blocks at one token whose restoration brings the target back.

Fig. 6 shows an early group at the subject and a late one at the token that predicts. A group is every run of
blocks at a token whose effect, p(restored) − p(corrupted), is above half of the largest effect of the map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_DAMAGE = 0.01
"""Probability that the noise must take from the target before states can bring it back."""


@dataclass(frozen=True)
class Group:
    """A run of neighbouring blocks at one token.

    Attributes
    ----------
    token
        Position in the prompt.
    first, last
        Blocks from 0, both included.
    low, high
        The same as shares of the depth: first/ℓ and (last + 1)/ℓ.
    mean, peak
        Effect over the group, in probability.
    fluctuation
        Standard deviation of the effect over the blocks of the group, over its mean; NaN for one block. 0 for
        blocks that do the same, as averaging has it.
    """

    token: int
    first: int
    last: int
    low: float
    high: float
    mean: float
    peak: float
    fluctuation: float


def is_damaged(clean: float, corrupted: float, stderr: float) -> bool:
    """Whether noise lowered the target's probability: by `LEAST_DAMAGE`, and twice its error if known."""
    return clean - corrupted >= max(LEAST_DAMAGE, 0.0 if math.isnan(stderr) else 2 * stderr)


def find_groups(effect: NDArray[np.float64], share: float = 0.5) -> tuple[Group, ...]:
    """Find the groups of a map.

    Parameters
    ----------
    effect
        (blocks, tokens) p(restored) − p(corrupted).
    share
        Of the largest effect, from which on a block belongs to a group.

    Returns
    -------
    tuple
        By token, then by block; none when nothing is brought back.
    """
    depth, tokens = effect.shape
    peak = float(effect.max(initial=0.0))
    if not peak > 0:
        return ()
    groups = []
    for token in range(tokens):
        inside = np.flatnonzero(effect[:, token] >= share * peak)
        for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1) if len(inside) else []:
            values = effect[run, token]
            first, last = int(run[0]), int(run[-1])
            mean = float(values.mean())
            spread = float(values.std(ddof=1)) / mean if len(run) > 1 else float("nan")
            groups.append(
                Group(
                    token, first, last, first / depth, (last + 1) / depth, mean, float(values.max()), spread
                )
            )
    return tuple(groups)
