"""Mixtures of one or two Gaussians, fitted by expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from depthlaw.numerics.streaming import Array

_NARROWEST = (
    1e-4  # smallest variance of a component, where the whole cloud has 1: keeps copies from collapsing
)
_SETTLED = 0.02  # gain of log-likelihood of an iteration; BIC counts differences of 10


@dataclass(frozen=True)
class Mixture:
    """Gaussian mixture fitted to points.

    Attributes
    ----------
    weights
        (components,) summing to 1.
    means
        (components, dimensions).
    covariances
        (components, dimensions, dimensions).
    log_likelihood
        Of all points.
    n_points
        How many they are.
    """

    weights: Array
    means: Array
    covariances: Array
    log_likelihood: float
    n_points: int

    @property
    def smallest(self) -> float:
        """Points of the smallest component."""
        return float(self.weights.min() * self.n_points)

    @property
    def bic(self) -> float:
        """−2 log-likelihood + parameters · ln(points); lower is better."""
        k, d = self.means.shape
        n_params: int = k * (d + d * (d + 1) // 2) + k - 1
        return float(-2 * self.log_likelihood + n_params * np.log(max(self.n_points, 1)))

    def log_densities(self, points: Array) -> Array:
        """Weighted log density of each component, (points, components), at points (points, dimensions)."""
        d = self.means.shape[1]
        columns = []
        for weight, mean, covariance in zip(self.weights, self.means, self.covariances, strict=True):
            root = np.linalg.cholesky(covariance)
            z = (points - mean) @ np.linalg.inv(root).T
            scale = np.log(np.diag(root)).sum() + 0.5 * d * np.log(2 * np.pi)
            columns.append(np.log(weight) - scale - 0.5 * np.einsum("nd,nd->n", z, z))
        return np.stack(columns, axis=1)

    def responsibilities(self, points: Array) -> Array:
        """Probability of each component, (points, components), for points (points, dimensions)."""
        log = self.log_densities(points)
        return np.exp(log - _log_sum(log)[:, None])

    @property
    def valley(self) -> float:
        """Lowest density between two peaks as a share of the lower one; 1 where there is one peak."""
        inverse = np.linalg.inv(self.covariances)
        # Dense at both ends: where one component is narrow the ridge turns close to it.
        share = expit(np.linspace(-20, 20, 801))[:, None, None]
        pull = (1 - share) * inverse[0] + share * inverse[1]
        aim = (1 - share[:, 0]) * (inverse[0] @ self.means[0]) + share[:, 0] * (inverse[1] @ self.means[1])
        ridge = np.linalg.solve(pull, aim[..., None])[..., 0]
        height = _log_sum(self.log_densities(ridge))
        padded = np.concatenate([[-np.inf], height, [-np.inf]])
        peaks = np.flatnonzero((height >= padded[:-2]) & (height > padded[2:]))
        if len(peaks) < 2:
            return 1.0
        first, last = peaks[0], peaks[-1]
        return float(np.exp(height[first : last + 1].min() - min(height[first], height[last])))


def single(white: Array) -> Mixture:
    """One Gaussian for points (points, dimensions) that have mean 0 and covariance 1."""
    n, d = white.shape
    shape = (np.ones(1), np.zeros((1, d)), np.eye(d)[None])
    return Mixture(*shape, float(Mixture(*shape, 0.0, n).log_densities(white).sum()), n)


def expect_maximise(points: Array, second: Array, iterations: int) -> Mixture | None:
    """Fit two Gaussians to points of unit covariance.

    Parameters
    ----------
    points
        (points, dimensions).
    second
        (points,) probability of the second component to start from.
    iterations
        At most.

    Returns
    -------
    Mixture or None
        ``None`` when a component runs empty.
    """
    n, d = points.shape
    share = np.stack([1 - second, second], axis=1).astype(np.float64)
    before = -np.inf
    for _ in range(iterations):
        count = share.sum(axis=0)
        if count.min() < d + 1:
            return None
        means = (share.T @ points) / count[:, None]
        covariances = np.stack([_spread(points - means[k], share[:, k]) for k in (0, 1)])
        mixture = Mixture(count / n, means, covariances, 0.0, n)
        log = mixture.log_densities(points)
        total = _log_sum(log)
        likelihood = float(total.sum())
        share = np.exp(log - total[:, None])
        if likelihood - before < _SETTLED:
            break
        before = likelihood
    return Mixture(mixture.weights, mixture.means, mixture.covariances, likelihood, n)


def _log_sum(log: Array) -> Array:
    """ln(exp a + exp b) of the columns; scipy's general one takes longer than all the rest of a step."""
    total: Array = log[:, 0] if log.shape[1] == 1 else np.logaddexp(log[:, 0], log[:, 1])
    return total


def _spread(deviation: Array, share: Array) -> Array:
    covariance = (deviation * share[:, None]).T @ deviation / share.sum()
    values, vectors = np.linalg.eigh(covariance)
    floored: Array = (vectors * np.maximum(values, _NARROWEST)) @ vectors.T
    return floored


def moved(mixture: Mixture, root: Array, centre: Array, jacobian: float) -> Mixture:
    """The mixture in the coordinates x = centre + root·z."""
    means = mixture.means @ root.T + centre
    covariances = root @ mixture.covariances @ root.T
    return Mixture(mixture.weights, means, covariances, mixture.log_likelihood + jacobian, mixture.n_points)
