"""What a shape costs, as a smooth function of width and depth: parameters, or FLOP for each token trained on.

Every count here is ``(square·m² + linear·m)·ℓ + outside·m``: blocks, and what stands outside of them
(embeddings, head, last norm). For whole numbers of heads and rounded feed-forward widths the exact count of
`depthlaw.planning.architecture` is within rounding of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthlaw.numerics.terms import Array

TRAINING_PASSES = 6.0
"""FLOP per parameter and token: 2 forward, 4 backward (Kaplan et al. 2020, arXiv 2001.08361)."""


@dataclass(frozen=True)
class Count:
    """``(square·m² + linear·m)·ℓ + outside·m``.

    Attributes
    ----------
    square, linear
        Per block, by m² and m.
    outside
        Outside of the blocks, by m.
    label
        What is counted, in words.
    """

    square: float
    linear: float = 0.0
    outside: float = 0.0
    label: str = ""

    def __call__(self, width: Array, depth: Array) -> Array:
        """The count of shapes, arrays of equal shape."""
        value: Array = (self.square * width + self.linear) * width * depth + self.outside * width
        return value

    def width(self, total: Array, depth: Array) -> Array:
        """The width at which a shape of ``depth`` counts ``total``."""
        square, half = self.square * depth, 0.5 * (self.linear * depth + self.outside)
        width: Array = total / (half + np.sqrt(half * half + square * total))
        return width

    def slopes(self, width: Array, depth: Array) -> tuple[Array, Array]:
        """∂ln count / ∂ln width and ∂ln count / ∂ln depth."""
        square, linear = self.square * width * depth, self.linear * depth
        total = square + linear + self.outside
        return (2 * square + linear + self.outside) / total, (square + linear) / total

    def times(self, factor: float, label: str) -> Count:
        """The same count in another currency: FLOP instead of parameters."""
        return Count(self.square * factor, self.linear * factor, self.outside * factor, label)

    @property
    def pure(self) -> bool:
        """Whether it is a multiple of m²ℓ, for which the best shape has a closed form."""
        return self.linear == 0.0 and self.outside == 0.0


NOMINAL = Count(12.0, label="12 m²ℓ: blocks of full attention and a feed-forward of 4 m, no embeddings")
"""N = 12 m²ℓ, what scaling laws usually mean by the parameters of a shape."""
