"""Forms side by side: certified differences, terms without effect, tables made from another form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import FitError, UsageError
from depthlaw.laws.candidates import largest_shapes
from depthlaw.laws.compare import compare
from depthlaw.reproduce.made import made_runs

DECOMPOSED = "width + depth + tokens + floor"


def shapes() -> dict[str, np.ndarray]:
    return {k: v for k, v in made_runs().items() if k != "loss"}


@pytest.mark.data
def test_chinchilla_plain_law_is_ahead_with_the_tables_parameters_and_level_with_12_width2_depth(
    data_dir: Path,
) -> None:
    result = compare(read_runs(data_dir / "runs/chinchilla.csv", exclude_highest=40))
    decomposed, plain = result[DECOMPOSED], result["params + tokens + floor"]
    assert decomposed.aic == pytest.approx(-2098.3, abs=0.05)
    assert plain.aic == pytest.approx(-2108.6, abs=0.05)
    assert result["12 width² depth + tokens + floor"].aic == pytest.approx(-2098.7, abs=0.05)
    assert (plain.n_params, decomposed.n_params) == (5, 7)
    assert result.sentence.startswith("params + tokens + floor is preferred")
    assert "describes these losses better than width and depth apart" in result.sentence


@pytest.mark.data
def test_gemstones_prefer_the_decomposed_law_by_about_100(data_dir: Path) -> None:
    result = compare(read_runs(data_dir / "runs/gemstones_hot.csv"))
    assert result.contenders[0].name == DECOMPOSED
    behind = result["12 width² depth + tokens + floor"].aic - result[DECOMPOSED].aic
    assert behind == pytest.approx(100, abs=5)
    assert result.n_groups == 22
    assert any(n.code == "clustered-criteria" for n in result.notices)


def test_a_table_made_from_parameters_is_recognised() -> None:
    x = shapes()
    params = 12 * x["d_model"] ** 2 * x["n_layers"]
    noise = np.exp(np.random.default_rng(0).normal(0, 0.004, 60))
    loss = (400 * params**-0.34 + 500 * x["tokens"] ** -0.3 + 1.7) * noise
    result = compare({**x, "loss": loss})
    assert result.contenders[0].name == "12 width² depth + tokens + floor"
    assert "parameter count alone" in result.sentence


def test_depth_counted_from_two_is_recognised() -> None:
    x = shapes()
    noise = np.exp(np.random.default_rng(1).normal(0, 0.002, 60))
    loss = 300 * x["d_model"] ** -0.9 + 5 * (x["n_layers"] - 2) ** -1.2 + 500 * x["tokens"] ** -0.3 + 1.7
    result = compare({**x, "loss": loss * noise})
    assert result.contenders[0].name == "width + (depth - 2) + tokens + floor"


def test_a_term_without_effect_is_dropped_in_words() -> None:
    x = shapes()
    noise = np.exp(np.random.default_rng(2).normal(0, 0.004, 60))
    loss = (300 * x["d_model"] ** -0.9 + 500 * x["tokens"] ** -0.3 + 1.7) * noise
    result = compare({**x, "loss": loss})
    assert "The depth term does nothing for the fit" in result.sentence
    assert result["width + tokens + floor"].aicc <= result[DECOMPOSED].aicc


def test_the_right_form_predicts_what_it_has_not_seen() -> None:
    result = compare(made_runs())
    best = result.contenders[0]
    assert best.name == DECOMPOSED
    assert best.held_out == pytest.approx(0.004, rel=0.5)  # the noise of the table
    assert best.extrapolated < 0.01
    assert best.held_out < result["width + tokens + floor"].held_out / 3
    assert abs(np.mean(best.by_group["depth"])) < 0.002


def test_named_forms_only() -> None:
    result = compare(made_runs(), forms=("width + depth", "width + depth + tokens"))
    assert {c.name for c in result.contenders} == {"width + depth + floor", DECOMPOSED}
    assert result.asked == "width + depth + floor"


def test_forms_that_cannot_be_fitted_say_why() -> None:
    result = compare({**made_runs(), "n_layers": np.full(60, 16.0)})
    assert result[DECOMPOSED].problem == "depth never changes"
    assert result.contenders[-1].problem
    assert np.isnan(result[DECOMPOSED].aicc)


def test_no_form_at_all_is_a_fit_error() -> None:
    few = {name: values[:5] for name, values in made_runs().items()}
    with pytest.raises(FitError, match="no form could be fitted"):
        compare(few)


def test_largest_shapes_are_whole_shapes() -> None:
    params = np.repeat([1e8, 1e9, 1e10], [10, 10, 4])
    assert largest_shapes({"params": params}).sum() == 4
    assert largest_shapes({"params": np.repeat([1.0, 2.0], [5, 5])}).sum() == 5


def test_what_the_table_cannot_identify_is_said_beside_the_preference(
    made_table: Callable[..., dict[str, np.ndarray]],
) -> None:
    two = compare(made_table(depths=(8, 32)), starts=64, splits=2)
    (said,) = [notice.message for notice in two.notices if notice.code == "not-identified"]
    assert said.startswith("depth and floor: only two values of depth (8, 32)")
    assert "no exponent there is identified: train runs" in said
    whole = compare(made_table(), starts=64, splits=2)
    assert not [notice for notice in whole.notices if notice.code == "not-identified"]
    with pytest.raises(UsageError, match='scale "depht" not found'):
        compare(made_table(), forms=("width + depht", "width"), starts=64)
