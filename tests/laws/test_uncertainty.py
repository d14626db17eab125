"""Errors that know which rows are independent, and an objective that outliers pull less."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import UsageError
from depthlaw.laws.bootstrap import bootstrap, influence, rebind
from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.sandwich import sandwich
from depthlaw.reproduce.made import TRUTH, made_runs

Fitted = Callable[..., Fit]


def expected(data_dir: Path, name: str) -> dict:
    return json.loads((data_dir / "synthetic" / "expected.json").read_text())[name]


@pytest.mark.data
def test_s16_clusters_are_recognised_and_their_interval_holds_the_truth(fitted: Fitted) -> None:
    by_run = fitted("synthetic/s16_checkpoints_run_noise.csv")
    by_row = fitted("synthetic/s16_checkpoints_run_noise.csv", {"errors": "rows"})
    assert "25 runs (run)" in by_run.errors
    assert by_run["alpha_depth"].value == by_row["alpha_depth"].value
    for name, truth in (("alpha_width", 0.9), ("alpha_depth", 1.2)):
        low, high = by_run[name].interval
        assert low < truth < high
        assert by_run[name].stderr > 3 * by_row[name].stderr  # expected.json: several times the iid error
    low, high = by_row["alpha_depth"].interval
    assert not low < 1.2 < high  # what independent rows would claim, 7 standard errors from the truth
    assert (by_row["alpha_depth"].value - 1.2) / by_row["alpha_depth"].stderr > 6.5


@pytest.mark.data
def test_s16_point_and_row_errors(fitted: Fitted, data_dir: Path) -> None:
    law = fitted("synthetic/s16_checkpoints_run_noise.csv", {"errors": "rows"})
    want = expected(data_dir, "s16_checkpoints_run_noise")["fit"]
    for name, key in (("alpha_width", "m"), ("alpha_depth", "l"), ("alpha_tokens", "D")):
        assert law[name].value == pytest.approx(want[f"a_{key}"], rel=5e-5)
        assert law[name].stderr == pytest.approx(want[f"se_{key}"], rel=1e-3)


@pytest.mark.data
def test_gemstones_interval_by_run_is_wider(fitted: Fitted) -> None:
    by_run = fitted("runs/gemstones_hot.csv")
    by_row = fitted("runs/gemstones_hot.csv", {"errors": "rows"})
    for name in ("alpha_width", "alpha_depth"):
        wide, narrow = (np.ptp(law[name].interval) for law in (by_run, by_row))
        assert wide > 2 * narrow
    low, high = by_run["alpha_depth"].interval
    assert low == pytest.approx(0.09, abs=0.03)  # SPEC, by shape: [.09, .30]
    assert high == pytest.approx(0.30, abs=0.08)
    assert high < 1.0


@pytest.mark.data
def test_s10_huber_stands_where_squares_are_pulled_away(fitted: Fitted, data_dir: Path) -> None:
    clean = fitted("synthetic/s02_noise_0p5pct.csv")
    squares = fitted("synthetic/s10_outliers_5pct.csv")
    huber = fitted("synthetic/s10_outliers_5pct.csv", {"objective": "huber"})
    want = expected(data_dir, "s10_outliers_5pct")
    assert squares["alpha_width"].value == pytest.approx(want["fit_mse"]["a_m"], rel=5e-5)
    for name in ("alpha_width", "alpha_depth", "alpha_tokens", "floor"):
        assert abs(huber[name].value - clean[name].value) < 3 * clean[name].stderr
    assert abs(squares["alpha_width"].value - clean["alpha_width"].value) > 10 * clean["alpha_width"].stderr
    named = next(n for n in huber.notices if n.code == "outliers")
    assert sorted(named.rows) == sorted(row + 2 for row in want["outlier_rows"])
    assert huber.certificate.converged
    assert huber.objective == "huber"
    assert huber.delta == 1e-3


@pytest.mark.data
def test_s07_copies_as_clusters_have_the_errors_of_the_originals(data_dir: Path, fitted: Fitted) -> None:
    original = fitted("synthetic/s02_noise_0p5pct.csv")
    once = fit(read_runs(data_dir / "synthetic/s07_dup_x4.csv", drop_duplicates=True))
    assert once["alpha_depth"].stderr == pytest.approx(original["alpha_depth"].stderr, rel=1e-9)
    table = read_runs(data_dir / "synthetic/s07_dup_x4.csv")
    columns = {name: table[name] for name in ("width", "depth", "tokens", "loss")}
    labels = ["-".join(f"{v:g}" for v in row) for row in zip(*columns.values(), strict=True)]
    clustered = fit({"run": labels, **columns})
    assert "100 runs" in clustered.errors
    assert clustered["alpha_depth"].stderr == pytest.approx(original["alpha_depth"].stderr, rel=0.25)


def test_sandwich_over_rows_agrees_with_the_plain_error_for_even_noise() -> None:
    law = fit(made_runs())
    bound, optimum = rebind(law)
    covariance = sandwich(bound, optimum, np.zeros(7, bool), np.arange(60))
    robust = np.sqrt(np.diag(bound.transform @ covariance @ bound.transform.T))
    np.testing.assert_allclose(robust, np.sqrt(np.diag(law.covariance)), rtol=0.35)


def test_bootstrap_agrees_with_the_profile_for_independent_rows() -> None:
    by_profile = fit(made_runs())
    by_resampling = fit(made_runs(), intervals="bootstrap")
    for name in ("alpha_width", "alpha_depth", "alpha_tokens", "floor"):
        np.testing.assert_allclose(
            by_resampling[name].interval,
            by_profile[name].interval,
            atol=0.35 * np.ptp(by_profile[name].interval),
        )
    assert "bootstrap intervals over rows (1000 resamples)" in by_resampling.errors


def test_bootstrap_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    law = fit(made_runs())
    one, same, other = (bootstrap(law, resamples=200, seed=s).points for s in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_influence_is_an_exact_refit() -> None:
    runs = made_runs()
    law = fit(runs)
    left = influence(law)
    assert left.change.shape == (60, 7)
    row = int(np.argmax(np.abs(left.change[:, 3])))
    without = fit({name: np.delete(values, row) for name, values in runs.items()})
    np.testing.assert_allclose(law.point + left.change[row], without.point, rtol=1e-6)


def test_few_runs_of_many_checkpoints_say_that_their_errors_are_too_small() -> None:
    runs = made_runs()
    shapes = [f"{int(d)}" for d in runs["n_layers"]]  # five labels, each with four widths: not one run
    law = fit({"run": shapes, **runs})
    assert any(n.code in ("few-clusters", "clusters-not-used") for n in law.notices)


def test_asking_for_clusters_where_there_are_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no cluster column"):
        fit(made_runs(), errors="clusters")


def test_huber_has_no_profile() -> None:
    with pytest.raises(UsageError, match="no likelihood"):
        fit(made_runs(), objective="huber", intervals="profile")


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_huber_does_not_depend_on_the_scale_of_the_weights(scale: float) -> None:
    plain = fit(made_runs(), objective="huber", resamples=100)
    scaled = fit({**made_runs(), "w": np.full(60, scale)}, objective="huber", resamples=100)
    np.testing.assert_allclose(plain.point, scaled.point, rtol=1e-9)


def test_huber_with_a_wide_delta_is_least_squares() -> None:
    squares, huber = fit(made_runs()), fit(made_runs(), objective="huber", delta=1.0, resamples=100)
    np.testing.assert_allclose(huber.point, squares.point, rtol=1e-8)
    for name, truth in TRUTH.items():
        low, high = huber[name].interval
        assert low * 0.8 < truth < high * 1.2
