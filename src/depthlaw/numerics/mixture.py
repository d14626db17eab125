"""One cluster or two? Gaussian mixtures by expectation maximisation, and when a second cluster is one.

With many points BIC prefers two Gaussians for any cloud that is not exactly Gaussian: a skewed or
heavy-tailed one is described as a core and a tail. So the second component must also lie apart: along the
ridge between the two means (Ray and Lindsay 2005) the density has to fall well below the lower peak.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from depthlaw.numerics.streaming import Array

BIC_GAIN = 10.0
"""Difference of BIC from which the evidence counts (Kass and Raftery 1995: very strong)."""

HIGHEST_VALLEY = 0.35
"""Density between the clusters, as a share of the lower peak, up to which they lie apart.

Two equal round clusters reach it at 3.7 standard deviations; a box, the flattest single cluster, at .6.
"""

FEWEST = 10
"""Points that a cluster needs; below, they are outliers."""

_NARROWEST = (
    1e-4  # smallest variance of a component, where the whole cloud has 1: keeps copies from collapsing
)
_STARTING_POINTS = 4000
_TAILS = (0.005, 0.05, 0.5)
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


@dataclass(frozen=True)
class Clusters:
    """One cluster against two.

    Attributes
    ----------
    one, two
        The fitted mixtures, in the coordinates of the points; ``two`` is ``None`` where there are too few
        different points for two clusters.
    bic_gain
        BIC of one minus BIC of two: positive when two describe the points better. NaN without ``two``.
    valley
        See `Mixture.valley`; NaN without ``two``.
    smallest
        Points that belong to the smaller cluster (sum of probabilities); NaN without ``two``.
    """

    one: Mixture
    two: Mixture | None
    bic_gain: float
    valley: float
    smallest: float

    @property
    def supported(self) -> bool:
        """Whether the points support a second cluster."""
        enough = self.smallest >= FEWEST
        return enough and self.bic_gain > BIC_GAIN and self.valley <= HIGHEST_VALLEY

    @property
    def reason(self) -> str:
        """What speaks against a second cluster, empty when nothing does."""
        if self.two is None:
            return "too few different points for two clusters"
        if self.bic_gain <= BIC_GAIN:
            return f"two Gaussians describe it no better than one (BIC lower by {self.bic_gain:.1f})"
        if self.smallest < FEWEST:
            return f"only {self.smallest:.0f} points lie apart"
        if self.valley > HIGHEST_VALLEY:
            return (
                f"the cloud is not Gaussian (BIC lower by {self.bic_gain:.0f} with two), but it has no gap: "
                f"the density between the two is {self.valley:.2f} of the lower peak"
            )
        return ""


def find_clusters(points: Array) -> Clusters:
    """Fit one Gaussian and two, and compare.

    Deterministic: the starts cut off tails of several sizes along every axis.

    Parameters
    ----------
    points
        (points, dimensions) finite; directions in which they do not vary must have been left out.
    """
    n, d = points.shape
    centre = points.mean(axis=0) if n else np.zeros(d)
    covariance = np.cov(points, rowvar=False, ddof=0).reshape(d, d) if n else np.eye(d)
    values, vectors = np.linalg.eigh(covariance)
    if n < 2 * FEWEST or values[0] <= 0:
        lost = Mixture(np.ones(1), centre[None], covariance[None], float("nan"), n)
        return Clusters(lost, None, float("nan"), float("nan"), float("nan"))
    # Round and of unit size: neither units nor directions of the points matter.
    root = vectors * np.sqrt(values)
    white = (points - centre) @ (vectors / np.sqrt(values))
    one = _whole(white)
    two = _two(white)
    jacobian = -0.5 * n * float(np.log(values).sum())
    moved_one = _moved(one, root, centre, jacobian)
    if two is None:
        return Clusters(moved_one, None, float("nan"), float("nan"), float("nan"))
    moved = _moved(two, root, centre, jacobian)
    return Clusters(moved_one, moved, one.bic - two.bic, two.valley, float(two.weights.min() * n))


def _whole(white: Array) -> Mixture:
    n, d = white.shape
    single = Mixture(np.ones(1), np.zeros((1, d)), np.eye(d)[None], 0.0, n)
    return Mixture(*_shape(single), float(single.log_densities(white).sum()), n)


def _two(white: Array) -> Mixture | None:
    few = white[:: -(-len(white) // _STARTING_POINTS)]
    best: Mixture | None = None
    for axis in range(white.shape[1]):
        for sign in (-1, 1):
            for tail in _TAILS:
                if tail == 0.5 and sign == 1:
                    continue  # the same cut as with the other sign
                along = sign * few[:, axis]
                tried = _expect_maximise(few, (along > np.quantile(along, 1 - tail)).astype(np.float64), 25)
                # A few outliers make a component of high likelihood that is no cluster.
                if tried is None or tried.weights.min() * len(white) < FEWEST:
                    continue
                if best is None or tried.log_likelihood > best.log_likelihood:
                    best = tried
    if best is None:
        return None
    return _expect_maximise(white, best.responsibilities(white)[:, 1], 300)


def _expect_maximise(points: Array, second: Array, iterations: int) -> Mixture | None:
    """Iterate from the probability of the second component, ``None`` when a component runs empty."""
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
    return Mixture(*_shape(mixture), likelihood, n)


def _log_sum(log: Array) -> Array:
    """ln(exp a + exp b) of the columns; scipy's general one takes longer than all the rest of a step."""
    total: Array = log[:, 0] if log.shape[1] == 1 else np.logaddexp(log[:, 0], log[:, 1])
    return total


def _spread(deviation: Array, share: Array) -> Array:
    covariance = (deviation * share[:, None]).T @ deviation / share.sum()
    values, vectors = np.linalg.eigh(covariance)
    floored: Array = (vectors * np.maximum(values, _NARROWEST)) @ vectors.T
    return floored


def _shape(mixture: Mixture) -> tuple[Array, Array, Array]:
    return mixture.weights, mixture.means, mixture.covariances


def _moved(mixture: Mixture, root: Array, centre: Array, jacobian: float) -> Mixture:
    """The mixture in the coordinates x = centre + root·z."""
    means = mixture.means @ root.T + centre
    covariances = root @ mixture.covariances @ root.T
    return Mixture(mixture.weights, means, covariances, mixture.log_likelihood + jacobian, mixture.n_points)
