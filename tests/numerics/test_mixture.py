import numpy as np
import pytest
from scipy.stats import multivariate_normal

from depthlaw.numerics.mixture import Mixture, expect_maximise, single


def test_densities_against_scipy():
    rng = np.random.default_rng(4)
    points = rng.standard_normal((7, 2))
    spreads = np.array([[[2.0, 0.3], [0.3, 1.0]], [[0.5, 0.0], [0.0, 3.0]]])
    mixture = Mixture(np.array([0.3, 0.7]), np.array([[0.0, 1.0], [2.0, -1.0]]), spreads, 0.0, 7)
    want = np.stack(
        [
            np.log(w) + multivariate_normal(m, s).logpdf(points)
            for w, m, s in zip(mixture.weights, mixture.means, spreads, strict=True)
        ],
        axis=1,
    )
    np.testing.assert_allclose(mixture.log_densities(points), want, rtol=1e-12)
    assert mixture.responsibilities(points).sum(axis=1) == pytest.approx(1.0)


def test_the_valley_of_two_equal_round_clusters():
    def valley(distance):
        means = np.array([[0.0, 0.0], [distance, 0.0]])
        return Mixture(np.full(2, 0.5), means, np.stack([np.eye(2)] * 2), 0.0, 1).valley

    assert valley(1.9) == 1.0  # one peak up to two standard deviations
    middle, peak = 2 * np.exp(-(2.5**2) / 2), 1 + np.exp(-(5.0**2) / 2)
    assert valley(5.0) == pytest.approx(middle / peak, rel=1e-3)


def test_the_iteration_climbs_and_stops_at_a_maximum():
    rng = np.random.default_rng(1)
    points = np.r_[rng.standard_normal((300, 2)), rng.standard_normal((100, 2)) + 5]
    points = (points - points.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(points.T, ddof=0))).T
    start = (np.arange(400) >= 350).astype(float)
    steps = [expect_maximise(points, start, n).log_likelihood for n in (1, 2, 5, 300)]
    assert steps == sorted(steps)
    best = expect_maximise(points, start, 300)
    np.testing.assert_allclose(sorted(best.weights), [0.25, 0.75], atol=0.01)
    # The moments of the mixture are those of the points, as at every maximum.
    np.testing.assert_allclose(best.weights @ best.means, 0.0, atol=1e-3)
    assert best.log_likelihood > single(points).log_likelihood


def test_a_component_that_runs_empty_is_no_mixture():
    assert expect_maximise(np.random.default_rng(2).standard_normal((50, 2)), np.zeros(50), 5) is None
