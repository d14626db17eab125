from __future__ import annotations

import numpy as np
import pytest

from depthlaw.numerics.starts import LEAST_SHARE, agreeing, exponent_starts, project_coefficients
from depthlaw.numerics.terms import Array


@pytest.mark.parametrize("n_terms", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [64, 128, 1000])
def test_starts_are_half_a_grid_and_half_random(n_terms: int, count: int) -> None:
    starts = exponent_starts(n_terms, count, np.random.default_rng(0))
    assert starts.shape == (count, n_terms)
    assert ((starts >= 0.03) & (starts <= 4.0)).all()
    assert len(np.unique(starts, axis=0)) == count
    on_grid = min(np.floor((count / 2) ** (1 / n_terms) + 1e-9), 32) ** n_terms
    corners = starts[: int(on_grid)]
    assert (corners.min(0), corners.max(0)) == (pytest.approx(0.1), pytest.approx(2.5))


def test_starts_depend_on_the_seed_alone() -> None:
    one, same, other = (exponent_starts(3, 64, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.array_equal(one[:27], other[:27])  # the grid


def test_more_terms_than_starts_still_gives_every_corner() -> None:
    assert exponent_starts(5, 32, np.random.default_rng(0)).shape == (32, 5)
    assert exponent_starts(0, 64, np.random.default_rng(0)).shape == (1, 0)


def law(grid: list[Array], params: Array) -> Array:
    centred = [u - u.mean() for u in grid]
    terms = [np.exp(params[2 * k] - params[2 * k + 1] * u) for k, u in enumerate(centred)]
    return np.log(sum(terms) + params[-1])


def test_projection_gives_the_truth_at_the_true_exponents(grid: list[Array]) -> None:
    truth = np.array([-0.5, 0.9, -0.2, 1.2, 0.1, 0.3, 1.7])
    centred = [u - u.mean() for u in grid]
    made = project_coefficients(
        centred, law(grid, truth), np.ones(36), np.array([[0.9, 1.2, 0.3]]), floor=True
    )
    np.testing.assert_allclose(made[0], truth, rtol=1e-5)


def test_projection_without_floor_leaves_it_at_zero(grid: list[Array]) -> None:
    truth = np.array([-0.5, 0.9, 0.3, 1.2, 0.0])
    centred = [u - u.mean() for u in grid[:2]]
    made = project_coefficients(
        centred, law(grid[:2], truth), np.ones(36), np.array([[0.9, 1.2]]), floor=False
    )
    np.testing.assert_allclose(made[0], truth, rtol=1e-5)
    assert made[0, -1] == 0.0


def test_a_loss_that_grows_never_gives_a_term_without_logarithm(grid: list[Array]) -> None:
    truth = np.array([-0.5, 0.9, -0.2, -1.2, 0.1, 0.3, 1.7])
    centred = [u - u.mean() for u in grid]
    log_loss = law(grid, truth)
    exponents = exponent_starts(3, 200, np.random.default_rng(3))
    made = project_coefficients(centred, log_loss, np.ones(36), exponents, floor=True)
    assert np.isfinite(made).all()
    assert (made[:, 0:6:2] >= np.log(LEAST_SHARE)).all()
    assert (made[:, 0:6:2] == np.log(LEAST_SHARE)).any()
    assert ((made[:, -1] > 0) & (made[:, -1] < np.exp(log_loss.min()))).all()
    assert np.array_equal(made[:, 1:6:2], exponents)


def test_collinear_scales_project_all_the_same() -> None:
    u = np.log([1.0, 2.0, 4.0, 8.0])
    u -= u.mean()
    made = project_coefficients([u, u], np.zeros(4), np.ones(4), np.array([[1.0, 1.0]]), floor=True)
    assert np.isfinite(made).all()


def test_agreement_is_relative_and_zeros_agree() -> None:
    cost = np.array([1.0, 1.0 + 5e-7, 1.0 + 5e-6, np.inf])
    assert agreeing(cost, 1.0, 10.0).tolist() == [True, True, False, False]
    assert agreeing(np.array([1e-27, 3e-25, 1e-20]), 1e-27, 1.0).tolist() == [True, True, False]
