"""Profile intervals against brute force, and against theory where theory is exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, least_squares

from depthlaw.numerics.problem import LogProblem
from depthlaw.numerics.profile import Profiles, Quantity, profile
from depthlaw.numerics.terms import Array

Make = Callable[..., LogProblem]
U = np.log(np.geomspace(1, 100, 15))


def fitted(problem: LogProblem, start: Array) -> tuple[Array, float]:
    solved = problem.solve(start[None])
    assert solved.converged.all()
    return solved.params[0], float(solved.cost[0])


def quantity(index: int, size: int, scale: float, lower: float = -60.0, upper: float = 60.0) -> Quantity:
    return Quantity(np.eye(size)[index], index, scale, lower, upper)


def run(problem: LogProblem, start: Array, quantities: list[Quantity], level: float = 0.95) -> Profiles:
    optimum, cost = fitted(problem, start)
    spare = problem.n_runs - problem.map.n_free
    return profile(
        problem,
        optimum,
        cost,
        quantities,
        threshold=float(stats.t.ppf(0.5 + level / 2, spare)),
        unit=cost / spare,
    )


def brute_force_ends(problem: LogProblem, index: int, start: Array, reach: float) -> tuple[float, float]:
    """Ends of the interval of one parameter, by a scalar root search over scipy fits of the others."""
    optimum, cost = fitted(problem, start)
    spare = problem.n_runs - problem.map.n_free
    goal = cost * (1 + stats.t.ppf(0.975, spare) ** 2 / spare)
    others = [k for k in range(len(start)) if k != index]

    def excess(value: float) -> float:
        def residual(z: Array) -> Array:
            params = np.empty(len(start))
            params[index], params[others] = value, z
            return problem.residuals(params[None])[0][0]

        def slope(z: Array) -> Array:
            params = np.empty(len(start))
            params[index], params[others] = value, z
            return problem.residuals(params[None])[1][0][others].T

        found = least_squares(
            residual, optimum[others], jac=slope, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14
        )
        return 2 * found.cost - goal

    at = optimum[index]
    return brentq(excess, at - reach, at, xtol=1e-10), brentq(excess, at, at + reach, xtol=1e-10)


def test_ends_are_those_of_brute_force(make_problem: Make) -> None:
    start = np.array([0.0, 0.7, 0.8])
    problem = make_problem([U], start, noise=0.03)
    found = run(problem, start, [quantity(0, 3, 0.05), quantity(1, 3, 0.05), quantity(2, 3, 0.1)])
    assert found.better is None
    for index, reach in ((0, 0.5), (1, 0.4), (2, 0.4)):
        low, high = brute_force_ends(problem, index, start, reach)
        tolerance = 2e-5 * (high - low)
        assert found.lower[index] == pytest.approx(low, abs=tolerance)
        assert found.upper[index] == pytest.approx(high, abs=tolerance)


@pytest.mark.parametrize("level", [0.68, 0.95, 0.999])
def test_a_straight_line_in_logs_has_the_t_interval(make_problem: Make, level: float) -> None:
    """One term without floor is ln L = a − αu: linear, so profile and t intervals are the same."""
    problem = make_problem([U], np.array([0.2, 0.5, 0.0]), noise=0.1, floor=False)
    found = run(problem, np.array([0.0, 1.0, 0.0]), [quantity(0, 3, 0.1), quantity(1, 3, 0.1)], level)
    u = U - U.mean()
    design = np.stack([np.ones(15), -u], 1)
    (a, alpha), rss, _, _ = np.linalg.lstsq(design, problem.log_loss)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rss[0] / 13)
    half = stats.t.ppf(0.5 + level / 2, 13) * errors
    np.testing.assert_allclose(found.lower, np.array([a, alpha]) - half, atol=3e-5 * errors.max())
    np.testing.assert_allclose(found.upper, np.array([a, alpha]) + half, atol=3e-5 * errors.max())
    for trace, centre, error in zip(found.traces, (a, alpha), errors, strict=True):
        np.testing.assert_allclose(trace.zeta, (trace.value - centre) / error, atol=1e-4)


def test_a_poor_first_step_finds_the_same_ends(make_problem: Make) -> None:
    start = np.array([0.0, 0.7, 0.8])
    problem = make_problem([U], start, noise=0.03)
    scales = [1e-4, 0.05, 10.0]
    found = [run(problem, start, [quantity(1, 3, scale, lower=0.0)]) for scale in scales]
    for one in found:
        assert one.lower[0] == pytest.approx(found[1].lower[0], abs=1e-5)
        assert one.upper[0] == pytest.approx(found[1].upper[0], abs=1e-5)


def test_all_quantities_together_are_each_by_itself(make_problem: Make) -> None:
    start = np.array([0.0, 0.7, 0.8])
    problem = make_problem([U], start, noise=0.03)
    wanted = [quantity(1, 3, 0.05), quantity(2, 3, 0.1)]
    together, alone = run(problem, start, wanted), [run(problem, start, [q]) for q in wanted]
    assert together.lower.tolist() == pytest.approx([one.lower[0] for one in alone], abs=1e-5)
    assert together.upper.tolist() == pytest.approx([one.upper[0] for one in alone], abs=1e-5)


def test_a_sum_of_parameters_can_be_profiled(make_problem: Make) -> None:
    problem = make_problem([U], np.array([0.2, 0.5, 0.0]), noise=0.1, floor=False)
    row = np.array([1.0, -2.0, 0.0])
    found = run(problem, np.array([0.0, 1.0, 0.0]), [Quantity(row, 0, 0.1, -60, 60)])
    u = U - U.mean()
    design = np.stack([np.ones(15), -u], 1)
    best, rss, _, _ = np.linalg.lstsq(design, problem.log_loss)
    error = np.sqrt(row[:2] @ np.linalg.inv(design.T @ design) @ row[:2] * rss[0] / 13)
    half = stats.t.ppf(0.975, 13) * error
    assert found.lower[0] == pytest.approx(row[:2] @ best - half, abs=3e-5 * error)
    assert found.upper[0] == pytest.approx(row[:2] @ best + half, abs=3e-5 * error)


def test_an_end_that_does_not_come_is_open(make_problem: Make) -> None:
    """Only the smallest scale lies above the floor: a lower end, but any larger exponent fits as well."""
    step = np.log(np.array([1.0, 10, 100, 1000] * 5))
    start = np.array([-11.0, 3.0, 1.0])
    problem = make_problem([step], start, noise=0.005)
    found = run(problem, start, [quantity(1, 3, 0.5, lower=0.0, upper=50.0)])
    assert 0.5 < found.lower[0] < 3.0
    assert found.upper[0] == np.inf
    assert found.traces[0].value.max() == pytest.approx(50.0)
    assert found.traces[0].zeta[-1] < 2.2


def test_a_parameter_at_its_bound_has_no_room_below(make_problem: Make) -> None:
    problem = make_problem([U], np.array([0.0, 0.7, 0.0]), noise=0.02, seed=1)
    bent = replace(problem, log_loss=problem.log_loss - 0.01 * (U - U.mean()) ** 2)
    optimum, _ = fitted(bent, np.array([0.0, 0.7, 0.1]))
    assert optimum[2] == 0.0
    found = run(bent, np.array([0.0, 0.7, 0.1]), [quantity(2, 3, 0.01, lower=0.0, upper=1.0)])
    assert found.lower[0] == -np.inf
    assert 0 < found.upper[0] < 0.2


def test_traces_are_sorted_and_pass_through_the_optimum(make_problem: Make) -> None:
    start = np.array([0.0, 0.7, 0.8])
    problem = make_problem([U], start, noise=0.03)
    optimum, _ = fitted(problem, start)
    found = run(problem, start, [quantity(1, 3, 0.05)])
    trace, threshold = found.traces[0], stats.t.ppf(0.975, 12)
    assert (np.diff(trace.value) > 0).all()
    assert (np.diff(trace.zeta) > 0).all()
    assert np.interp(optimum[1], trace.value, trace.zeta) == pytest.approx(0.0, abs=1e-9)
    for end, zeta in ((found.lower[0], -threshold), (found.upper[0], threshold)):
        assert np.interp(end, trace.value, trace.zeta) == pytest.approx(zeta, rel=1e-4)
    between = (trace.zeta > 0.2 * threshold) & (trace.zeta < 0.8 * threshold)
    assert between.any()  # the ends alone would not show the shape


def test_a_better_optimum_is_reported_not_hidden(make_problem: Make) -> None:
    start = np.array([0.0, 0.7, 0.8])
    problem = make_problem([U], start, noise=0.03)
    optimum, cost = fitted(problem, start)
    false = optimum + np.array([0.05, 0.02, 0.03])
    false_cost = float(problem.cost(false[None])[0])
    found = profile(problem, false, false_cost, [quantity(1, 3, 0.05)], threshold=2.0, unit=false_cost / 12)
    assert found.better is not None
    assert cost <= problem.cost(found.better[None])[0] < false_cost
