"""Principal components of trajectories, exact from their covariance, and the two ideal trajectories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from depthlaw.errors import InputError
from depthlaw.numerics.streaming import Array, Covariance

PAPER_MIDDLE = 0.45
"""Angle in the middle of the ideal even trajectory in the paper's figure, radians."""

_ROUNDING = 1e-9  # variance of a component below this share of the first one is rounding


@dataclass(frozen=True)
class Principal:
    """Principal components of trajectories.

    Attributes
    ----------
    mean
        (layers,) radians.
    components
        (components, layers) unit vectors, the one of largest variance first; the largest entry of each is
        positive. Fewer than asked for where trajectories do not vary in so many directions.
    variance
        (components,) rad².
    total
        Variance of all layers together, rad².
    n_tokens
        Tokens behind it.
    """

    mean: Array
    components: Array
    variance: Array
    total: float
    n_tokens: int

    def project(self, theta: ArrayLike) -> Array:
        """Coordinates (tokens, components) in radians of trajectories (tokens, layers)."""
        points: Array = (np.asarray(theta, dtype=np.float64) - self.mean) @ self.components.T
        return points


def principal_components(covariance: Covariance, n_components: int = 2) -> Principal:
    """Take the principal components of a covariance of trajectories.

    Raises
    ------
    InputError
        When it rests on fewer than two tokens.
    """
    if covariance.count < 2:
        raise InputError(f"principal components need two tokens at least, not {int(covariance.count)}.")
    values, vectors = np.linalg.eigh(covariance.covariance)
    order = np.argsort(values)[::-1][:n_components]
    order = order[values[order] > _ROUNDING * max(float(values.max()), 0.0)]
    components = vectors[:, order].T
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(order)), largest])
    total = float(np.trace(covariance.covariance))
    return Principal(
        covariance.mean, components * signs[:, None], values[order], total, int(covariance.count)
    )


def ideal_trajectories(layers: int, middle: float) -> tuple[Array, Array]:
    """The trajectory that stops in the middle, and the even one.

    Parameters
    ----------
    layers
        Angles of a trajectory.
    middle
        Radians that the even one turns at every layer but the first and the last, where both turn π/2.

    Returns
    -------
    stops, even
        (layers,) radians each.
    """
    stops = np.zeros(layers)
    stops[[0, -1]] = np.pi / 2
    even = np.full(layers, middle)
    even[[0, -1]] = np.pi / 2
    return stops, even
