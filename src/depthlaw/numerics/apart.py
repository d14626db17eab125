"""One cluster or two? And when a second cluster is one.

With many points BIC prefers two Gaussians for any cloud that is not exactly Gaussian: a skewed or
heavy-tailed one is described as a core and a tail. So the second component must also lie apart: between the
two means the density has to fall well below the lower peak, that of the mixture (along its ridge, Ray and
Lindsay 2005) and that of the points themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from depthlaw.numerics.mixture import Mixture, expect_maximise, moved, single
from depthlaw.numerics.streaming import Array

BIC_GAIN = 10.0
"""Difference of BIC from which the evidence counts (Kass and Raftery 1995: very strong)."""

HIGHEST_VALLEY = 0.35
"""Density between the clusters, as a share of the lower peak, up to which they lie apart.

Two equal round clusters reach it at 3.7 standard deviations; a box, the flattest single cluster, stays
above .6.
"""

FEWEST = 10
"""Points that a cluster needs; below, they are outliers."""

_STARTING_POINTS = 3000
_MOST_POINTS = 100_000  # more do not tell more, and take their time
_TAILS = (0.005, 0.05, 0.5)
_MOST_BINS = 100_000
_FLAT = 1e-12  # variance below this share of the largest is rounding: the points do not fill the space
_SAME = 1.0  # difference of log-likelihood below which two ways led to the same mixture


@dataclass(frozen=True)
class Clusters:
    """One cluster against two.

    Attributes
    ----------
    one
        A single Gaussian, in the coordinates of the points.
    two
        The likeliest mixture of two that lie apart; where there is none, the likeliest of all; ``None`` where
        there are too few different points.
    bic_gain
        BIC of one minus BIC of two: positive when two describe the points better. NaN without ``two``.
    valley
        Density between the two as a share of the lower peak, see `valley_between`; NaN without ``two``.
    smallest
        Points that belong to the smaller cluster (sum of probabilities); NaN without ``two``.
    apart
        Every mixture found that is supported, the likeliest first: a cloud with several small clusters has
        one for each. The first of them is ``two``.
    """

    one: Mixture
    two: Mixture | None
    bic_gain: float
    valley: float
    smallest: float
    apart: tuple[Mixture, ...]

    @property
    def supported(self) -> bool:
        """Whether the points support a second cluster."""
        return bool(self.apart)

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

    Deterministic: the starts cut off tails of several sizes along every axis. Of more than 100,000 points,
    every second, third, … is looked at.

    Parameters
    ----------
    points
        (points, dimensions) finite; directions in which they do not vary must have been left out.
    """
    points = points[:: -(-len(points) // _MOST_POINTS) or 1]
    n, d = points.shape
    centre = points.mean(axis=0) if n else np.zeros(d)
    covariance = np.cov(points, rowvar=False, ddof=0).reshape(d, d) if n and d else np.eye(d)
    values, vectors = np.linalg.eigh(covariance)
    if n < 2 * FEWEST or d == 0 or values[0] <= _FLAT * values[-1]:
        lost = Mixture(np.ones(1), centre[None], covariance[None], float("nan"), n)
        return Clusters(lost, None, float("nan"), float("nan"), float("nan"), ())
    # Round and of unit size: neither units nor directions of the points matter.
    root = vectors * np.sqrt(values)
    white = (points - centre) @ (vectors / np.sqrt(values))
    jacobian = -0.5 * n * float(np.log(values).sum())
    one = single(white)
    tried = [
        _Tried(mixture, one.bic - mixture.bic, valley_between(white, mixture)) for mixture in _pairs(white)
    ]
    tried.sort(key=lambda found: -found.mixture.log_likelihood)
    apart: list[_Tried] = []
    for found in tried:
        known = apart and apart[-1].mixture.log_likelihood - found.mixture.log_likelihood < _SAME
        if found.supported and not known:
            apart.append(found)
    best = next(iter([*apart, *tried]), None)
    if best is None:
        nan = float("nan")
        return Clusters(moved(one, root, centre, jacobian), None, nan, nan, nan, ())
    return Clusters(
        moved(one, root, centre, jacobian),
        moved(best.mixture, root, centre, jacobian),
        best.gain,
        best.valley,
        best.mixture.smallest,
        tuple(moved(found.mixture, root, centre, jacobian) for found in apart),
    )


@dataclass(frozen=True)
class _Tried:
    mixture: Mixture
    gain: float
    valley: float

    @property
    def supported(self) -> bool:
        return self.mixture.smallest >= FEWEST and self.gain > BIC_GAIN and self.valley <= HIGHEST_VALLEY


def valley_between(points: Array, mixture: Mixture) -> float:
    """Lowest density between two components as a share of the lower peak; 1 where there is no valley.

    The higher one of two answers: of the mixture along its ridge, and of the points, smoothed, along the
    direction that parts the components best. A Gaussian at a sharp edge of a cloud only seems to lie apart.
    """
    means, covariances = mixture.means, mixture.covariances
    along = points @ np.linalg.solve(covariances.sum(axis=0), means[1] - means[0])
    share = mixture.responsibilities(points)
    count = share.sum(axis=0)
    middle = share.T @ along / count
    spread = np.sqrt(np.einsum("nk,nk->k", share, np.square(along[:, None] - middle)) / count)
    distance = abs(float(middle[1] - middle[0]))
    small = int(count.argmin())
    # The usual width for the smaller one; copies of one point have none of their own.
    width = max(float(1.06 * spread[small] * count[small] ** -0.2), 0.02 * distance)
    bins = int(np.ceil(float(np.ptp(along)) / (width / 3)))
    if not 1 < bins < _MOST_BINS or distance == 0:
        return mixture.valley
    height, edges = np.histogram(along, bins=bins)
    smooth = gaussian_filter1d(height.astype(np.float64), 3.0, mode="constant")
    centres = (edges[:-1] + edges[1:]) / 2
    peaks = []
    places = []
    for k in (0, 1):
        near = np.flatnonzero(np.abs(centres - middle[k]) <= max(float(spread[k]), 2 * width))
        places.append(int(near[smooth[near].argmax()]))
        peaks.append(smooth[places[-1]])
    low = smooth[min(places) : max(places) + 1].min()
    return max(mixture.valley, float(low / min(peaks)))


def _pairs(white: Array) -> Iterator[Mixture]:
    """Maxima of the likelihood with two components: all that lie apart, and the highest.

    A small cluster far from a large one is a maximum, but not the highest when the large one is not Gaussian:
    two Gaussians for the large one gain more.
    """
    few = white[:: -(-len(white) // _STARTING_POINTS)]
    tried = sorted(_tails(few, len(white)), key=lambda mixture: -mixture.log_likelihood)
    apart = [mixture for mixture in tried if mixture.valley <= HIGHEST_VALLEY]
    before = np.inf
    for start in (*tried[:1], *apart):
        if before - start.log_likelihood < _SAME:
            continue  # another way to the same
        before = start.log_likelihood
        found = expect_maximise(white, start.responsibilities(white)[:, 1], 300)
        if found is not None:
            yield found


def _tails(few: Array, n: int) -> Iterator[Mixture]:
    """Mixtures of a part of ``n`` points, from starts that cut off tails of several sizes on every side."""
    for axis in range(few.shape[1]):
        for sign in (-1, 1):
            for tail in _TAILS:
                if tail == 0.5 and sign == 1:
                    continue  # the same cut as with the other sign
                along = sign * few[:, axis]
                beyond = (along > np.quantile(along, 1 - tail)).astype(np.float64)
                found = expect_maximise(few, beyond, 25)
                # A few outliers make a component of high likelihood that is no cluster.
                if found is not None and found.smallest * n / len(few) >= FEWEST:
                    yield found
