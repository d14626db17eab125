"""Objectives on residuals: how much a residual counts, its influence and its curvature.

All are scaled so that they equal the squared residual near zero; ``psi`` and ``curvature`` are half the
first and second derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from depthlaw.numerics.terms import Array


class Loss(Protocol):
    """A function of residuals, applied element by element."""

    def __call__(self, residual: Array) -> tuple[Array, Array, Array | None]:
        """Return (rho, psi, curvature); a curvature of ``None`` stands for one everywhere."""
        ...


@dataclass(frozen=True)
class Squares:
    """rho = r²: least squares."""

    def __call__(self, residual: Array) -> tuple[Array, Array, Array | None]:
        """See `Loss`."""
        return residual * residual, residual, None


@dataclass(frozen=True)
class Huber:
    """rho = r² within ``delta`` (in units of the residual), growing linearly outside (Huber 1964)."""

    delta: float

    def __call__(self, residual: Array) -> tuple[Array, Array, Array | None]:
        """See `Loss`."""
        psi = np.clip(residual, -self.delta, self.delta)
        return psi * (2.0 * residual - psi), psi, (psi == residual).astype(np.float64)
