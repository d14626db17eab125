"""The arithmetic behind the three regimes: how errors of blocks add up to a loss.

The final state's error is (1/ℓ) Σ_l ε_l and the loss its mean square. Independent ε_l of size 1 average to
ℓ^-1; errors of a method of order p with random signs, ε_l = ±ℓ^-p, give ℓ^-(2p+1); with coherent signs ℓ^-2p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Signs = Literal["random", "coherent"]


def summed_error_loss(
    depths: Sequence[int], *, order: int, signs: Signs, samples: int = 20_000, seed: int = 0
) -> NDArray[np.float64]:
    """Simulate the loss (depths,) of networks whose blocks err by ``order``.

    Parameters
    ----------
    order
        p of ε_l = ℓ^-p·(a draw); 0 for subnetworks that do not improve with depth.
    signs
        Draws independent between blocks (``random``), or the same for all blocks of a network.
    samples
        Networks at each depth.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    found = []
    for depth in depths:
        blocks = depth if signs == "random" else 1
        mean = np.zeros(samples)
        for _ in range(blocks):  # one block at a time: samples × depth would not fit
            mean += rng.standard_normal(samples)
        found.append(np.mean((mean / blocks * float(depth) ** -order) ** 2))
    return np.array(found)
