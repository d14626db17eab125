import numpy as np
import pytest
from scipy.stats import multivariate_normal

from depthlaw.numerics.apart import FEWEST, find_clusters, valley_between
from depthlaw.numerics.mixture import Mixture


def cloud(name, n, rng):
    """One cluster, of a shape that is not always Gaussian."""
    z = rng.standard_normal((n, 2))
    return {
        "round": lambda: z,
        "long": lambda: z @ [[3.0, 1.0], [0.0, 0.1]] + 7,
        "heavy tails": lambda: z / np.sqrt(rng.chisquare(3, (n, 1)) / 3),
        "skewed": lambda: np.exp(0.7 * z),
        "very skewed": lambda: np.exp(1.2 * z),
        "box": lambda: rng.uniform(-1, 1, (n, 2)),
        "bent": lambda: np.c_[z[:, 0], 0.3 * z[:, 1] + z[:, 0] ** 2],
        "corner": lambda: rng.exponential(size=(n, 2)),
        "pointed": lambda: rng.laplace(size=(n, 2)),
        "outliers": lambda: np.r_[z, [[20, 20], [21, 19], [25, 0]]],
    }[name]()


SHAPES = (
    "round",
    "long",
    "heavy tails",
    "skewed",
    "very skewed",
    "box",
    "bent",
    "corner",
    "pointed",
    "outliers",
)


@pytest.mark.parametrize("name", SHAPES)
def test_one_cluster_is_not_called_two(name):
    rng = np.random.default_rng(SHAPES.index(name))
    small = sum(find_clusters(cloud(name, 300, rng)).supported for _ in range(8))
    large = find_clusters(cloud(name, 3000, rng)).supported
    assert (small, large) == (0, False)


@pytest.mark.parametrize(("share", "n"), [(0.5, 400), (0.05, 1000), (0.004, 10_000)])
def test_a_second_cluster_is_found_with_its_share(share, n):
    rng = np.random.default_rng(1)
    few = round(share * n)
    points = np.r_[rng.standard_normal((n - few, 2)), [8.0, 3.0] + 0.5 * rng.standard_normal((few, 2))] * [
        0.05,
        2.0,
    ] + [1.0, -9.0]
    found = find_clusters(points)
    assert found.supported
    assert found.reason == ""
    second = int(found.two.means[:, 0].argmax())
    assert found.two.weights[second] == pytest.approx(share, rel=0.02)
    np.testing.assert_allclose(found.two.means[second], points[n - few :].mean(axis=0), rtol=1e-3)
    belongs = found.two.responsibilities(points)[:, second] > 0.5
    assert (belongs == (np.arange(n) >= n - few)).mean() > 0.999


def test_copies_of_one_point_are_a_cluster_without_collapsing():
    # Documents that begin with the same token begin with the same trajectory.
    rng = np.random.default_rng(2)
    points = np.r_[rng.standard_normal((2000, 2)), np.tile([9.0, 9.0], (40, 1))]
    found = find_clusters(points)
    assert found.supported
    assert found.two.weights.min() == pytest.approx(40 / 2040, rel=1e-6)


def test_neither_units_nor_rotation_matter():
    rng = np.random.default_rng(3)
    points = np.r_[rng.standard_normal((500, 2)), rng.standard_normal((60, 2)) + 7]
    one = find_clusters(points)
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    other = find_clusters(1e-3 * points @ turn + 5)
    assert other.bic_gain == pytest.approx(one.bic_gain, rel=1e-3)
    assert other.valley == pytest.approx(one.valley, abs=1e-3)


def test_likelihood_and_bic_are_those_of_the_points_as_given():
    points = np.random.default_rng(5).standard_normal((200, 2)) * [3.0, 0.2] + 4
    found = find_clusters(points)
    fitted = multivariate_normal(points.mean(axis=0), np.cov(points.T, ddof=0))
    assert found.one.log_likelihood == pytest.approx(fitted.logpdf(points).sum(), rel=1e-10)
    assert found.one.bic == pytest.approx(-2 * found.one.log_likelihood + 5 * np.log(200))
    direct = np.logaddexp(*found.two.log_densities(points).T).sum()
    assert found.two.log_likelihood == pytest.approx(direct, abs=0.1)


@pytest.mark.parametrize(
    "points", [np.zeros((50, 2)), np.empty((0, 2)), np.eye(2), np.ones((5, 1)), np.empty((50, 0))]
)
def test_too_little_to_tell(points):
    found = find_clusters(points)
    assert not found.supported
    assert "too few" in found.reason


def test_reasons_in_words():
    rng = np.random.default_rng(6)
    assert "no better than one" in find_clusters(cloud("round", 400, rng)).reason
    assert "no gap" in find_clusters(cloud("skewed", 400, rng)).reason
    few = np.r_[rng.standard_normal((400, 2)), np.full((FEWEST - 4, 2), 40.0)]
    assert not find_clusters(few).supported


def test_several_small_clusters_beside_a_large_one_that_is_not_gaussian():
    # Two Gaussians for the large one are likelier than one for it and one for a small one.
    rng = np.random.default_rng(8)
    large = np.exp(0.5 * rng.standard_normal((4000, 2)))
    points = np.r_[
        large, rng.standard_normal((40, 2)) * 0.2 - 3, rng.standard_normal((60, 2)) * 0.2 + [-4, 9]
    ]
    found = find_clusters(points)
    assert found.supported
    small = sorted(mixture.weights.min() * 4100 for mixture in found.apart)
    assert {round(size) for size in small} >= {40, 60}


def test_the_corner_of_a_box_is_not_a_cluster():
    # A mixture with a narrow component at the corner has a valley; the points have none.
    rng = np.random.default_rng(9)
    points = rng.uniform(-1, 1, (3000, 2))
    corner = Mixture(
        np.array([0.99, 0.01]),
        np.array([[0.0, 0.0], [0.95, 0.95]]),
        np.stack([np.eye(2) / 3, np.eye(2) / 1500]),
        0,
        3000,
    )
    assert corner.valley < 0.2
    assert valley_between(points, corner) > 0.6
