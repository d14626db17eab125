"""The batched solver against `scipy.optimize.least_squares`, and what must not depend on how it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from depthlaw.numerics.affine import AffineMap, MapBatch
from depthlaw.numerics.levmar import Solutions, Status, levmar
from depthlaw.numerics.losses import Huber
from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.starts import exponent_starts, project_coefficients
from depthlaw.numerics.terms import Array

Make = Callable[..., LogProblem]
TRUTH = np.array([-0.5, 0.9, -0.2, 1.2, 0.1, 0.3, 1.7])


def solve(problem: LogProblem, start: Array, block: int = 128, **options: object) -> Solutions:
    return levmar(
        problem,
        start,
        **{
            "maps": MapBatch.shared(problem.map),
            "weights": problem.weights,
            "lower": problem.lower,
            "upper": problem.upper,
            "step_limit": problem.step_limit,
            "block": block,
            **options,
        },
    )


def starts_for(problem: LogProblem, grid: list[Array], count: int = 32) -> Array:
    exponents = exponent_starts(len(grid), count, np.random.default_rng(0))
    centred = [u - u.mean() for u in grid]
    return project_coefficients(centred, problem.log_loss, problem.weights, exponents, floor=True)


def by_scipy(problem: LogProblem, start: Array, **options: object) -> tuple[Array, float]:
    """Minimum of the same objective found by another program, in free coordinates."""
    root = np.sqrt(problem.weights)

    def params(z: Array) -> Array:
        return problem.map.expand(z)[None]

    found = least_squares(
        lambda z: root * problem.residuals(params(z))[0][0],
        start[problem.map.pick],
        jac=lambda z: (root * (problem.map.matrix.T @ problem.residuals(params(z))[1][0])).T,
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=2000,
        **options,
    )
    return params(found.x)[0], 2 * found.cost


@pytest.mark.parametrize("seed", range(6))
def test_the_minimum_is_that_of_scipy(make_problem: Make, grid: list[Array], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = TRUTH + 0.3 * rng.normal(size=7) * [1, 0.5, 1, 0.5, 1, 0.3, 0.5]
    problem = make_problem(grid, truth, noise=0.01, seed=seed)
    problem = replace(problem, weights=rng.uniform(0.2, 3.0, problem.n_runs))
    solved = solve(problem, starts_for(problem, grid))
    best = int(np.argmin(solved.cost))
    params, cost = by_scipy(problem, truth, method="lm")
    assert solved.status[best] == Status.CONVERGED
    assert solved.cost[best] == pytest.approx(cost, rel=1e-12)
    np.testing.assert_allclose(solved.params[best], params, rtol=2e-6, atol=2e-7)
    assert (solved.converged == (solved.status == Status.CONVERGED)).all()


def test_every_start_of_a_clear_problem_reaches_the_same_point(make_problem: Make, grid: list[Array]) -> None:
    problem = make_problem(grid, TRUTH, noise=1e-3)
    solved = solve(problem, starts_for(problem, grid, 64))
    assert solved.converged.all()
    np.testing.assert_allclose(solved.cost, solved.cost.min(), rtol=1e-12)
    np.testing.assert_allclose(solved.params, np.tile(solved.params[0], (64, 1)), rtol=1e-7)
    assert solved.iterations.max() <= 60


def test_without_noise_the_truth_comes_back(make_problem: Make, grid: list[Array]) -> None:
    problem = make_problem(grid, TRUTH, noise=0.0)
    solved = solve(problem, starts_for(problem, grid))
    best = int(np.argmin(solved.cost))
    np.testing.assert_allclose(solved.params[best], TRUTH, rtol=1e-10)
    assert solved.cost[best] < 36e-24
    assert solved.converged[best]


def test_a_bound_holds_and_the_rest_is_the_best_beside_it(make_problem: Make) -> None:
    u = np.log(np.arange(1.0, 13.0))
    steeper_than_a_power = make_problem([u], np.array([0.0, 1.0, 0.0]), noise=0.0)
    bent = replace(steeper_than_a_power, log_loss=steeper_than_a_power.log_loss - 0.05 * (u - u.mean()) ** 2)
    solved = solve(bent, np.array([[0.1, 0.8, 0.3], [-0.3, 2.0, 0.0]]))
    without_floor = bent.constrained(np.eye(3)[2], 0.0, 2)
    params, cost = by_scipy(without_floor, np.array([0.0, 1.0, 0.0]), method="lm")
    assert solved.converged.all()
    assert (solved.params[:, 2] == 0.0).all()
    np.testing.assert_allclose(solved.cost, cost, rtol=1e-12)
    np.testing.assert_allclose(solved.params, np.tile(params, (2, 1)), atol=1e-8)


def test_starts_outside_the_bounds_are_brought_inside(make_problem: Make, grid: list[Array]) -> None:
    problem = make_problem(grid, TRUTH)
    outside = TRUTH[None] * np.where(np.arange(7) == 6, -1.0, 1.0)
    solved = solve(problem, outside)
    np.testing.assert_allclose(solved.params, solve(problem, TRUTH[None]).params, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 1e6, 0.3])
def test_the_size_of_the_objective_does_not_matter(
    make_problem: Make, grid: list[Array], factor: float
) -> None:
    problem = make_problem(grid, TRUTH)
    start = starts_for(problem, grid)
    plain, scaled = solve(problem, start), solve(problem, start, weights=factor * problem.weights)
    np.testing.assert_allclose(scaled.params, plain.params, rtol=1e-9)
    np.testing.assert_allclose(scaled.cost, factor * plain.cost, rtol=1e-12)
    assert scaled.status.tolist() == plain.status.tolist()
    assert np.abs(scaled.iterations - plain.iterations).max() <= 2


def test_weights_may_differ_from_problem_to_problem(make_problem: Make, grid: list[Array]) -> None:
    problem = make_problem(grid, TRUTH)
    weights = np.random.default_rng(0).integers(0, 4, (5, problem.n_runs)).astype(float)
    together = solve(problem, np.tile(TRUTH, (5, 1)), weights=weights)
    for k in range(5):
        alone = solve(replace(problem, weights=weights[k]), TRUTH[None])
        np.testing.assert_allclose(together.params[k], alone.params[0], rtol=1e-9)
        np.testing.assert_allclose(together.cost[k], alone.cost[0], rtol=1e-12)


def test_maps_may_differ_from_problem_to_problem(make_problem: Make, grid: list[Array]) -> None:
    problem = make_problem(grid, TRUTH)
    values = [0.5, 0.9, 1.3]
    maps = [AffineMap.identity(7).eliminate(np.eye(7)[1], v, 1) for v in values]
    together = solve(problem, np.tile(TRUTH, (3, 1)), maps=MapBatch.stack(maps))
    np.testing.assert_allclose(together.params[:, 1], values, rtol=1e-14)
    for k, one in enumerate(maps):
        alone = solve(replace(problem, map=one), TRUTH[None])
        np.testing.assert_allclose(together.params[k], alone.params[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_company_and_block_size_do_not_matter(make_problem: Make, grid: list[Array], block: int) -> None:
    problem = make_problem(grid, TRUTH)
    start = starts_for(problem, grid)
    order = np.random.default_rng(1).permutation(len(start))
    plain, other = solve(problem, start), solve(problem, start[order], block=block)
    assert other.iterations.tolist() == plain.iterations[order].tolist()
    np.testing.assert_allclose(other.params, plain.params[order], rtol=1e-10)
    np.testing.assert_allclose(other.gradient, plain.gradient[order], atol=1e-12)


def test_stopped_early_is_not_converged(make_problem: Make, grid: list[Array]) -> None:
    problem = make_problem(grid, TRUTH)
    far = TRUTH[None] + 0.5
    none, few = solve(problem, far, max_iterations=0), solve(problem, far, max_iterations=2)
    assert none.status.tolist() == few.status.tolist() == [Status.MAX_ITERATIONS]
    assert none.params.tolist() == far.tolist()
    assert none.cost[0] == pytest.approx(problem.cost(far)[0], rel=1e-14)
    assert few.cost[0] < none.cost[0]
    assert not few.converged.any()


def test_a_start_that_is_not_finite_says_so_and_leaves_the_others_alone(
    make_problem: Make, grid: list[Array]
) -> None:
    problem = make_problem(grid, TRUTH)
    bad = TRUTH.copy()
    bad[0] = np.nan
    zero = np.array([-1000.0, 1, -1000, 1, -1000, 1, 0])  # all terms vanish, and ln 0 has no value
    huge = np.array([1000.0, 1, 0, 1, 0, 1, 0])
    solved = solve(problem, np.stack([bad, TRUTH, zero, huge]))
    assert solved.status.tolist() == [
        Status.NOT_FINITE,
        Status.CONVERGED,
        Status.NOT_FINITE,
        Status.NOT_FINITE,
    ]
    np.testing.assert_allclose(solved.params[1], solve(problem, TRUTH[None]).params[0], rtol=1e-10)


def test_huber_ends_at_a_minimum_of_its_own_objective(make_problem: Make, grid: list[Array]) -> None:
    problem = make_problem(grid, TRUTH, noise=0.002, loss=Huber(0.003))
    spoiled = problem.log_loss.copy()
    spoiled[[3, 17]] += [0.2, -0.15]
    problem = replace(problem, log_loss=spoiled)
    solved = solve(problem, TRUTH[None])
    assert solved.status.tolist() == [Status.CONVERGED]
    wiggled = solved.params + 1e-4 * np.random.default_rng(0).normal(size=(50, 7))
    assert (problem.cost(wiggled) > solved.cost[0]).all()
    assert (
        np.abs(solved.params[0] - TRUTH).max()
        < np.abs(solve(replace(problem, loss=replace(Huber(1e9))), TRUTH[None]).params[0] - TRUTH).max()
    )


def test_wrong_derivatives_are_never_called_converged(make_problem: Make, grid: list[Array]) -> None:
    class Liar(LogProblem):
        def residuals(self, params: Array) -> tuple[Array, Array]:
            residual, jacobian = super().residuals(params)
            return residual, -jacobian

    liar = Liar(**vars(make_problem(grid, TRUTH)))
    solved = solve(liar, TRUTH[None] + 0.2)
    assert solved.status.tolist() == [Status.STALLED]
    assert solved.gradient[0] > 1e-3
