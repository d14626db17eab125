"""Derivatives against a second implementation of the law in complex numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.terms import Array, FloorTerm, PowerTerm, evaluate_terms

TINY = 1e-30
"""Complex step: no subtraction, so the derivative is exact to rounding."""


def log_law(log_scales: list[Array], params: np.ndarray) -> np.ndarray:
    """ln L (runs,) of one parameter vector, real or complex, written without the package."""
    terms = [np.exp(params[2 * k] - params[2 * k + 1] * u) for k, u in enumerate(log_scales)]
    return np.log(sum(terms) + params[-1])


def gradient(log_scales: list[Array], params: Array) -> Array:
    """∂ ln L / ∂p, (params, runs), by complex steps."""
    steps = params + 1j * TINY * np.eye(len(params))
    return np.stack([log_law(log_scales, step).imag / TINY for step in steps])


def hessian(log_scales: list[Array], params: Array, h: float = 1e-5) -> Array:
    """∂² ln L / ∂p∂p, (params, params, runs): central differences of `gradient`."""
    return np.stack(
        [
            (gradient(log_scales, params + step) - gradient(log_scales, params - step)) / (2 * h)
            for step in h * np.eye(len(params))
        ]
    )


@pytest.fixture(scope="module")
def scales(grid: list[Array]) -> list[Array]:
    return [u - u.mean() for u in grid]


@pytest.fixture(scope="module")
def problem(make_problem: Callable[..., LogProblem], grid: list[Array]) -> LogProblem:
    return make_problem(grid, np.array([0.1, 0.8, -0.3, 1.2, 0.4, 0.3, 1.5]))


@pytest.fixture(scope="module")
def batch() -> Array:
    """Parameter vectors from all over, exponents 0 and large ones among them."""
    rng = np.random.default_rng(1)
    params = rng.normal(0, 1, (5, 7))
    params[:, 1::2] = np.abs(params[:, 1::2])
    params[0, 1], params[1, 3] = 0.0, 6.0
    params[:, -1] = [0.0, 0.1, 1.0, 2.0, 5.0]
    return params


def test_a_power_term_is_its_formula() -> None:
    u = np.log([1.0, 2.0, 8.0])
    value, jacobian = evaluate_terms([PowerTerm(u)], np.array([[np.log(3.0), 2.0]]), 3)
    assert value[0] == pytest.approx([3.0, 3.0 / 4, 3.0 / 64], rel=1e-15)
    assert jacobian[0, 0] == pytest.approx(value[0], rel=1e-15)
    assert jacobian[0, 1] == pytest.approx(-u * value[0], rel=1e-15)


def test_a_sum_of_terms_adds_them_in_order() -> None:
    u = np.log([2.0, 4.0])
    value, jacobian = evaluate_terms([PowerTerm(u), FloorTerm()], np.array([[0.0, 1.0, 1.7]]), 2)
    assert value[0] == pytest.approx([2.2, 1.95], rel=1e-15)
    assert jacobian.shape == (1, 3, 2)
    assert jacobian[0, 2].tolist() == [1.0, 1.0]


def test_values_and_jacobian_are_those_of_the_law(
    problem: LogProblem, scales: list[Array], batch: Array
) -> None:
    residual, jacobian = problem.residuals(batch)
    for k, params in enumerate(batch):
        np.testing.assert_allclose(
            residual[k], log_law(scales, params) - problem.log_loss, rtol=1e-13, atol=1e-14
        )
        np.testing.assert_allclose(jacobian[k], gradient(scales, params), rtol=1e-12, atol=1e-14)


def test_second_order_is_the_weighted_hessian(problem: LogProblem, scales: list[Array], batch: Array) -> None:
    factor = np.random.default_rng(2).normal(size=(len(batch), problem.n_runs))
    form = problem.second_order(problem.residuals(batch)[1], factor)
    for k, params in enumerate(batch):
        wanted = hessian(scales, params) @ factor[k]
        np.testing.assert_allclose(form[k], wanted, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(form[k], form[k].T, rtol=1e-12, atol=1e-13)


def test_along_is_the_second_derivative_on_a_line(
    problem: LogProblem, scales: list[Array], batch: Array
) -> None:
    step = np.random.default_rng(3).normal(size=batch.shape)
    along = problem.along(problem.residuals(batch)[1], step)
    for k, params in enumerate(batch):
        wanted = np.einsum("i,ijr,j->r", step[k], hessian(scales, params), step[k])
        np.testing.assert_allclose(along[k], wanted, rtol=1e-6, atol=1e-6)


def test_along_and_second_order_agree(problem: LogProblem, batch: Array) -> None:
    rng = np.random.default_rng(4)
    step, factor = rng.normal(size=batch.shape), rng.normal(size=(len(batch), problem.n_runs))
    jacobian = problem.residuals(batch)[1]
    form = problem.second_order(jacobian, factor)
    np.testing.assert_allclose(
        np.einsum("bi,bij,bj->b", step, form, step),
        np.sum(factor * problem.along(jacobian, step), -1),
        rtol=1e-11,
    )


def test_cost_sums_the_weighted_losses(problem: LogProblem, batch: Array) -> None:
    weights = np.linspace(0.5, 2.0, problem.n_runs)
    weighted = LogProblem(**{**vars(problem), "weights": weights})
    residual = problem.residuals(batch)[0]
    np.testing.assert_allclose(weighted.cost(batch), (residual**2 * weights).sum(-1), rtol=1e-14)
    assert problem.n_runs == 36
