"""Another law held against a fit: admissible or not, optimum or not, with both objectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from depthlaw.errors import InputError, UsageError
from depthlaw.laws.against import against
from depthlaw.laws.fit import Fit, fit
from depthlaw.numerics.terms import Array
from depthlaw.reproduce.points import check_point

Made = Callable[..., dict[str, Array]]


def values_of(law: Fit) -> dict[str, float]:
    names = law.form.param_names
    return {n: float(np.exp(v) if n.startswith("c_") else v) for n, v in zip(names, law.point, strict=True)}


@pytest.mark.data
def test_the_published_point_is_admissible_and_not_the_optimum(fitted: Callable[..., Fit]) -> None:
    check = check_point(fitted("runs/chinchilla.csv", exclude_highest=40), "paper")
    assert f"{check.objective:.4e}" == "3.0578e-05"
    assert f"{check.optimum:.5e}" == "3.02737e-05"
    assert f"{check.statistic:.2f}" == "2.03"
    assert f"{check.threshold_one:.2f}" == "3.84"
    assert f"{check.threshold_all:.2f}" == "14.07"
    assert check.admissible
    said = check.sentence()
    for words in ("3.0578e-05", "3.02737e-05", "2.03", "3.84", "14.07"):
        assert words in said
    assert "statistically admissible, but not the optimum" in said


@pytest.mark.data
def test_the_published_point_for_depth_minus_two(fitted: Callable[..., Fit]) -> None:
    law = fitted("runs/chinchilla.csv", {"depth_offset": 2.0}, exclude_highest=40)
    check = check_point(law, "paper")
    assert check.name == "the published point (depth - 2)"
    assert check.optimum == pytest.approx(3.0605e-5, abs=5e-10)
    assert 0 < check.statistic < 14.07
    assert check.admissible


def test_the_optimum_against_itself(made_fit: Fit) -> None:
    check = against(made_fit, values_of(made_fit), "itself")
    assert check.statistic == pytest.approx(0.0, abs=1e-9)
    assert check.objective == pytest.approx(check.optimum, rel=1e-12)
    assert check.sentence().endswith("statistically admissible.")


def test_a_point_far_away_is_excluded(made_fit: Fit) -> None:
    check = against(made_fit, values_of(made_fit) | {"alpha_depth": 3.0}, "smooth")
    assert not check.admissible
    assert check.sentence().endswith("for one): excluded by the data.")
    residual = made_fit.at(np.where(np.arange(7) == 3, 3.0, made_fit.point))
    wanted = np.mean((np.log(residual) - np.log(made_fit.data["loss"])) ** 2)
    assert check.objective == pytest.approx(wanted, rel=1e-12)
    assert check.statistic == pytest.approx(48 * np.log(wanted / made_fit.certificate.objective), rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "truth", "free"),
    [
        ({}, {}, 7),
        ({"floor": False}, {"floor": 0.0}, 6),
        ({"fix": {"alpha_depth": 1.2}}, {}, 6),
        ({"fix": {"c_width": 300.0, "floor": 1.7}}, {}, 5),
        ({"tie": ("alpha_width=alpha_depth",)}, {"alpha_width": 1.0, "alpha_depth": 1.0}, 6),
    ],
)
def test_the_threshold_counts_free_parameters(
    made_table: Made, settings: dict[str, Any], truth: dict[str, float], free: int
) -> None:
    law = fit(made_table(**truth), **settings)
    check = against(law, values_of(law), "itself")
    assert check.threshold_all == pytest.approx(stats.chi2.ppf(0.95, free), rel=1e-12)
    assert check.threshold_one == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-12)


def test_weights_count(made_table: Made) -> None:
    table = made_table()
    weights = np.linspace(1, 3, 48)
    law = fit(read_with_weights(table, weights))
    point = values_of(law) | {"alpha_depth": 1.3}
    residual = np.log(law.at(np.where(np.arange(7) == 3, 1.3, law.point))) - np.log(table["loss"])
    assert against(law, point, "other").objective == pytest.approx(
        np.sum(weights * residual**2) / weights.sum(), rel=1e-12
    )


def read_with_weights(table: dict[str, Array], weights: Array) -> Any:
    from depthlaw.data.runs import read_runs

    return read_runs({**table, "w": weights}, weights="w")


def test_points_that_do_not_suit_the_law(made_fit: Fit) -> None:
    values = values_of(made_fit)
    with pytest.raises(UsageError, match="alpha_dpeth") as error:
        against(made_fit, {**values, "alpha_dpeth": 1.0}, "x")
    assert "Did you mean alpha_depth?" in str(error.value)
    del values["c_depth"]
    with pytest.raises(UsageError, match="x has no value for c_depth"):
        against(made_fit, values, "x")


def test_a_saved_law_can_be_held_against_a_fit(made_fit: Fit, tokens_fit: Fit, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    shorter = fit({name: values[1:] for name, values in made_fit.data.items()})
    shorter.save(path)
    check = check_point(made_fit, str(path))
    assert check.name == f"the law in {path}"
    wanted = against(made_fit, values_of(shorter), "")
    assert check.statistic == pytest.approx(wanted.statistic, rel=1e-9)
    assert check.statistic > 0
    with pytest.raises(UsageError, match="not of the form"):
        check_point(tokens_fit, str(path))
    path.write_text("{}")
    with pytest.raises(InputError, match="not a saved fit"):
        check_point(made_fit, str(path))


def test_unknown_points_and_forms_without_published_constants(made_fit: Fit, tokens_fit: Fit) -> None:
    with pytest.raises(UsageError, match='point "papre" not found') as error:
        check_point(made_fit, "papre")
    assert "Did you mean --against paper?" in str(error.value)
    with pytest.raises(UsageError, match="no constants for the law tokens"):
        check_point(tokens_fit, "paper")
    shifted = replace(made_fit, form=replace(made_fit.form, offsets={"depth": 1.0}))
    with pytest.raises(UsageError, match="no constants"):
        check_point(shifted, "paper")
