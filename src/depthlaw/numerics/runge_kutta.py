"""Explicit Runge–Kutta tableaus: how a block of several stages puts its pieces together.

A block of the laboratory's networks is one step of such a method with the unit step taken into the stages:
k_i = f_i(h + Σ_{j<i} a_ij k_j), then h + Σ_i b_i k_i. Times c_i play no part: each stage has its own f_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from depthlaw.errors import UsageError


@dataclass(frozen=True)
class Tableau:
    """An explicit method.

    Attributes
    ----------
    inner
        Row i holds a_i0 … a_i,i−1: what stage i adds to the state from the stages before it; row 0 is empty.
    outer
        (stages,) b_i: what the step adds from each stage.
    """

    inner: tuple[tuple[float, ...], ...]
    outer: tuple[float, ...]

    @property
    def stages(self) -> int:
        """Number of stages, each with a function of its own."""
        return len(self.outer)

    @property
    def flat(self) -> tuple[float, ...]:
        """Row by row below the diagonal, then ``outer``; what `from_flat` reads."""
        return (*(value for row in self.inner for value in row), *self.outer)


RESIDUAL = Tableau(((),), (1.0,))
"""Euler's method: h + f(h)."""
MIDPOINT = Tableau(((), (0.5,)), (0.0, 1.0))
"""h + f₂(h + ½ f₁(h))."""
RK4 = Tableau(((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
"""The classical method of fourth order."""

BY_ORDER = {1: RESIDUAL, 2: MIDPOINT, 4: RK4}


def from_flat(values: Sequence[float]) -> Tableau:
    """Build a tableau from s(s+1)/2 numbers: rows a_21; a_31 a_32; …, then b_1 … b_s.

    >>> from_flat((0.5, 0.0, 1.0)) == MIDPOINT
    True

    Raises
    ------
    UsageError
        When the count fits no number of stages.
    """
    stages = 1
    while stages * (stages + 1) // 2 < len(values):
        stages += 1
    if stages * (stages + 1) // 2 != len(values):
        raise UsageError(
            f"tableau has {len(values)} numbers, which fits no number of stages.",
            "Give a_21, a_31 a_32, … row by row, then b_1 … b_s: 1, 3, 6 or 10 numbers for 1 to 4 stages.",
        )
    inner = tuple(tuple(values[i * (i - 1) // 2 : i * (i + 1) // 2]) for i in range(stages))
    return Tableau(inner, tuple(values[-stages:]))
