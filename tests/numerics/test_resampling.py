"""Resampled refits: weights mean what they say; nobody does better with another's solution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from depthlaw.laws.form import Form, bind
from depthlaw.laws.optimum import find_optimum
from depthlaw.numerics.resampling import SCOUTS, draw_counts, leave_out_counts, reach, refit
from depthlaw.reproduce.made import made_runs


@pytest.fixture(scope="module")
def solved():
    runs = made_runs()
    scales = {"width": runs["d_model"], "depth": runs["n_layers"], "tokens": runs["tokens"]}
    bound = bind(Form(("width", "depth", "tokens")), scales, runs["loss"])
    return bound, find_optimum(bound, starts=64, seed=0)


def test_a_mean_of_few_groups_reaches_as_far_as_students_t() -> None:
    values = np.array([0.3, 1.1, 0.7, 2.0])
    drawn = np.random.default_rng(0).integers(0, 4, (20_000, 4))
    half = reach(4, 3, 0.95) * values[drawn].mean(1).std()
    assert half == pytest.approx(3.1824 * values.std(ddof=1) / 2, rel=0.02)


def test_counts_draw_whole_groups_as_often_as_there_are_groups() -> None:
    groups = np.array([0, 0, 1, 2, 2, 2])
    counts = draw_counts(np.random.default_rng(0), groups, 200)
    assert counts.shape == (200, 6)
    assert (counts[:, 0] == counts[:, 1]).all()
    assert (counts[:, 3] == counts[:, 5]).all()
    assert (counts[:, [0, 2, 3]].sum(1) == 3).all()
    assert abs(counts.mean() - 1.0) < 0.1


def test_leaving_out_leaves_out_one_group_each() -> None:
    assert leave_out_counts(np.array([0, 1, 1])).tolist() == [[0, 1, 1], [1, 0, 0]]


def test_refits_equal_fits_of_the_repeated_rows(solved) -> None:
    bound, optimum = solved
    counts = draw_counts(np.random.default_rng(1), np.arange(60), 8)
    refits = refit(bound.problem, optimum.params, counts)
    assert refits.converged.all()
    for count, params, cost in zip(counts, refits.params, refits.cost, strict=True):
        rows = np.repeat(np.arange(60), count.astype(int))

        def residual(z: np.ndarray, rows: np.ndarray = rows) -> np.ndarray:
            return bound.problem.residuals(z[None])[0][0][rows]

        peer = least_squares(residual, optimum.params, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14)
        assert cost <= 2 * peer.cost * (1 + 1e-9)
        np.testing.assert_allclose(params, peer.x, rtol=1e-4, atol=1e-5)


def test_nobody_does_better_with_anothers_solution(solved) -> None:
    bound, optimum = solved
    counts = draw_counts(np.random.default_rng(2), np.arange(60), 300)
    scattered = optimum.params + np.random.default_rng(3).normal(0, 0.3, (20, 7))
    refits = refit(bound.problem, optimum.params, counts, others=np.clip(scattered, 0.01, 2.0))
    crossed = counts @ (bound.problem.residuals(refits.params)[0] ** 2).T
    assert (refits.cost <= crossed.min(1) * (1 + 1e-6)).all()


def test_scouts_rescue_refits_from_a_bad_start(solved) -> None:
    """Started where nothing is finite, refits get home by what scouts find, the non-scouts too."""
    bound, optimum = solved
    counts = draw_counts(np.random.default_rng(4), np.arange(60), SCOUTS + 40)
    stuck = optimum.params.copy()
    stuck[:6:2] = 800.0  # exp overflows
    good = refit(bound.problem, optimum.params, counts)
    alone = refit(bound.problem, stuck, counts)
    helped = refit(bound.problem, stuck, counts, others=optimum.params[None])
    assert np.isinf(alone.cost).all()
    np.testing.assert_allclose(helped.cost, good.cost, rtol=1e-6)
    assert helped.converged.all()
    assert helped.rescued == len(counts)
