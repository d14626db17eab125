"""What a fit gives back, and when it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from depthlaw.data.runs import read_runs
from depthlaw.errors import FitError, InputError, UsageError
from depthlaw.laws.config import FitConfig
from depthlaw.laws.fit import Fit, fit
from depthlaw.numerics.terms import Array

Made = Callable[..., dict[str, Array]]
TRUTH = {"c_width": 300, "alpha_width": 0.9, "c_depth": 5, "alpha_depth": 1.2, "c_tokens": 500} | {
    "alpha_tokens": 0.3,
    "floor": 1.7,
}


def test_the_truth_is_near_and_values_lie_in_their_intervals(made_fit: Fit) -> None:
    assert [p.name for p in made_fit.params] == list(TRUTH)
    for name, truth in TRUTH.items():
        one = made_fit[name]
        assert abs(one.value - truth) < 3 * one.stderr
        assert one.interval[0] < one.value < one.interval[1]
        assert (one.status, one.reason) == ("ok", "")


def test_the_certificate_of_a_clear_fit(made_fit: Fit) -> None:
    certificate = made_fit.certificate
    assert certificate.converged
    assert certificate.starts == 128
    assert certificate.starts_at_best > 100
    assert certificate.scaled_gradient < 1e-9
    assert certificate.restarts == 0
    assert 10 < certificate.condition < 100
    assert certificate.objective == pytest.approx(made_fit.quality.mse, rel=1e-12)


def test_criteria_are_their_formulas(made_fit: Fit) -> None:
    quality, residual = made_fit.quality, made_fit.residuals()
    assert quality.mse == pytest.approx(np.mean(residual**2), rel=1e-12)
    deviance = 48 * np.log(quality.mse)
    assert quality.aic == pytest.approx(deviance + 14, rel=1e-12)
    assert quality.aicc == pytest.approx(deviance + 14 + 2 * 7 * 8 / (48 - 7 - 1), rel=1e-12)
    assert quality.bic == pytest.approx(deviance + 7 * np.log(48), rel=1e-12)
    relative = np.abs(made_fit.predict() / made_fit.data["loss"] - 1)
    assert quality.mean_abs_rel_error == pytest.approx(relative.mean(), rel=1e-9)


def test_errors_are_those_of_the_curvature(made_fit: Fit) -> None:
    """sqrt(diag(s² (JᵀJ)⁻¹)), from a Jacobian by differences in natural units."""
    values = np.array([made_fit[n].value for n in TRUTH])

    def log_law(p: Array) -> Array:
        x = [made_fit.data[s] for s in ("width", "depth", "tokens")]
        return np.log(sum(p[2 * k] * x[k] ** -p[2 * k + 1] for k in range(3)) + p[6])

    steps = 1e-6 * np.diag(values)
    jacobian = np.stack([(log_law(values + h) - log_law(values - h)) / (2 * h.sum()) for h in steps], 1)
    variance = np.sum(made_fit.residuals() ** 2) / (48 - 7)
    scale = np.linalg.norm(jacobian, axis=0)
    inverse = np.linalg.inv((jacobian / scale).T @ (jacobian / scale)) / np.outer(scale, scale)
    wanted = np.sqrt(variance * np.diag(inverse))
    assert [made_fit[n].stderr for n in TRUTH] == pytest.approx(list(wanted), rel=1e-4)


def test_levels_nest_and_go_with_t_quantiles(made_table: Made, made_fit: Fit) -> None:
    wide = fit(made_table(), level=0.99, starts=64)
    for name in ("alpha_width", "alpha_tokens"):
        (low, high), (lower, higher) = made_fit[name].interval, wide[name].interval
        assert lower < low < high < higher
        ratio = (higher - lower) / (high - low)
        assert ratio == pytest.approx(stats.t.ppf(0.995, 41) / stats.t.ppf(0.975, 41), rel=0.02)
    assert wide.level == 0.99


def test_a_floor_at_zero_has_no_symmetric_error(made_table: Made) -> None:
    table = made_table(floor=0.0)
    law = fit({**table, "loss": table["loss"] - 0.02}, starts=64)
    floor = law["floor"]
    assert (floor.value, floor.stderr, floor.status) == (0.0, None, "boundary")
    assert floor.reason == "at zero: no symmetric error"
    low, high = floor.interval
    assert low == 0.0
    assert 0 < high < 0.05
    assert "floor is at zero: no symmetric error." in [n.message for n in law.notices]
    assert law.identified
    assert (law.covariance[-1] == 0).all()
    # the rest is what a law without a floor gives
    without = fit({**table, "loss": table["loss"] - 0.02}, floor=False, starts=64)
    assert without["floor"].status == "fixed"
    assert without.quality.mse == pytest.approx(law.quality.mse, rel=1e-9)
    for name in ("alpha_width", "alpha_depth", "alpha_tokens"):
        assert law[name].value == pytest.approx(without[name].value, rel=1e-6)
        assert law[name].stderr == pytest.approx(without[name].stderr, rel=1e-5)


def test_fixed_parameters_stay_and_have_no_error(made_table: Made) -> None:
    law = fit(made_table(), fix={"c_width": 300.0, "alpha_depth": 1.2}, starts=64)
    for name, value in (("c_width", 300.0), ("alpha_depth", 1.2)):
        one = law[name]
        assert (one.value, one.stderr, one.interval, one.status) == (value, None, None, "fixed")
        index = list(TRUTH).index(name)
        assert law.covariance[index].tolist() == law.covariance[:, index].tolist() == [0.0] * 7
    assert law.point[[0, 3]] == pytest.approx([np.log(300.0), 1.2], rel=1e-14)
    assert law.identified
    assert np.linalg.matrix_rank(law.covariance) == 5


def test_fixing_everything_but_one_parameter_is_a_one_parameter_problem(made_table: Made) -> None:
    fixed = {name: float(value) for name, value in TRUTH.items() if name != "alpha_depth"}
    law = fit(made_table(), fix=fixed, starts=64)
    one = law["alpha_depth"]
    assert one.interval[0] < 1.2 < one.interval[1]
    half = (one.interval[1] - one.interval[0]) / 2
    assert half == pytest.approx(one.stderr * stats.t.ppf(0.975, 47), rel=1e-2)


@pytest.mark.parametrize("rows", [1, 5, 7])
def test_fewer_rows_than_parameters(made_table: Made, rows: int) -> None:
    order = np.random.default_rng(3).permutation(48)[:rows]
    table = {name: values[order] for name, values in made_table().items()}
    with pytest.raises(FitError, match="not identified") as error:
        fit(table)
    assert error.value.exit_code == 4
    if rows == 7:
        assert "7 runs cannot determine the 7 parameters of width + depth + tokens + floor" in str(
            error.value
        )
        assert "Add runs (8 at the very least)" in str(error.value)


def test_one_row_more_than_parameters_is_tried(made_table: Made) -> None:
    table = made_table((256, 2048), (4, 8, 32), (1e9,), noise=0.001)
    law = fit({k: table[k] for k in ("width", "depth", "loss")}, fix={"floor": 1.8}, starts=64)
    assert law.n_runs == 6
    assert np.isfinite(law.predict()).all()


def test_whatever_reads_as_a_table_can_be_fitted(made_table: Made, made_fit: Fit) -> None:
    pandas = pytest.importorskip("pandas")
    law = fit(pandas.DataFrame(made_table()))
    assert law["alpha_depth"].value == made_fit["alpha_depth"].value
    assert fit(read_runs(made_table())).point.tolist() == law.point.tolist()


def test_settings_override_the_config(made_table: Made) -> None:
    law = fit(made_table(), FitConfig(form="depth", level=0.9), form="width + tokens", fix={"floor": 2.0})
    assert law.form.scales == ("width", "tokens")
    assert law.level == 0.9
    assert law["floor"].status == "fixed"


def test_the_seed_decides_and_starts_do_not(made_table: Made, made_fit: Fit) -> None:
    same = fit(made_table())
    assert same.point.tolist() == made_fit.point.tolist()
    assert same.profiles[0].value.tolist() == made_fit.profiles[0].value.tolist()
    other = fit(made_table(), seed=7, starts=80)
    np.testing.assert_allclose(other.point, made_fit.point, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"form": "params"}, UsageError, "no column was recognised as the params"),
        ({"form": "width + breadth"}, UsageError, "breadth"),
        ({"fix": {"alpha_params": 1.0}}, UsageError, "alpha_params"),
        ({"depth_offset": 4.0}, UsageError, "depth offset 4 is not below the smallest depth"),
        ({"tie": ("alpha_depth=alpha_width", "alpha_width=alpha_depth")}, UsageError, "constrained twice"),
        ({"starts": 8}, UsageError, "8 starts are too few"),
    ],
)
def test_settings_that_do_not_suit_the_table(
    made_table: Made, settings: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        fit(made_table(), **settings)


def test_bad_rows_are_refused_before_anything_is_fitted(made_table: Made) -> None:
    table = made_table()
    table["loss"][3] = -1.0
    with pytest.raises(InputError, match="1 of 48 rows cannot be used"):
        fit(table)


def test_a_law_that_steps_at_its_smallest_scale_is_not_given_an_exponent() -> None:
    depth = np.array([2.0, 16, 32, 64, 128] * 4)
    noise = 0.005 * np.random.default_rng(0).standard_normal(20)
    law = fit({"depth": depth, "loss": (1.0 + 5.0 * depth**-4.0) * np.exp(noise)}, form="depth")
    one = law["alpha_depth"]
    assert (one.value, one.interval, one.status) == (None, None, "not-identified")
    assert "depth takes 5 values (2, 16, 32, 64, 128) and any exponent above" in one.reason
    assert law["c_depth"].reason == "alpha_depth has no upper end, so its coefficient has none"
    # the floor lies above the smallest loss, which is below the truth by chance
    assert law["floor"].value == pytest.approx(1.0, abs=0.005)
    assert law["floor"].interval[0] < 1.0 < law["floor"].interval[1]
    assert law["floor"].value > law.data["loss"].min()
