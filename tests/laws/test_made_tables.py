"""The made tables of ``data_dir`` behave as the ``expected.json`` beside them says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from depthlaw.laws.fit import Fit
from depthlaw.laws.words import verdict

pytestmark = pytest.mark.data

Fitted = Callable[..., Fit]
NAMES = {"m": "alpha_width", "l": "alpha_depth", "D": "alpha_tokens", "L0": "floor"}
ALL_NAMES = {
    "c_m": "c_width",
    "a_m": "alpha_width",
    "c_l": "c_depth",
    "a_l": "alpha_depth",
    "c_D": "c_tokens",
    "a_D": "alpha_tokens",
    "L0": "floor",
}


@pytest.fixture(scope="module")
def expected(data_dir: Path) -> dict[str, Any]:
    return json.loads((data_dir / "synthetic" / "expected.json").read_text())


def table(name: str) -> str:
    return f"synthetic/{name}.csv"


def check_fit(law: Fit, wanted: dict[str, float], *, errors: bool = True) -> None:
    """Values, errors and mse of ``wanted`` to 4 digits, and its condition number to 3."""
    for short, name in NAMES.items():
        value = wanted["L0" if short == "L0" else f"a_{short}"]
        assert law[name].value == pytest.approx(value, rel=5e-5), name
        if errors:
            assert law[name].stderr == pytest.approx(wanted[f"se_{short}"], rel=5e-5), name
    assert law.quality.mse == pytest.approx(wanted["mse"], rel=1e-6)
    assert law.certificate.condition == pytest.approx(wanted["cond"], rel=1e-3)
    assert law.certificate.converged


def test_s01_an_exact_law_is_recovered(fitted: Fitted, expected: dict[str, Any]) -> None:
    law, truth = fitted(table("s01_exact")), expected["s01_exact"]["truth"]
    for short, name in ALL_NAMES.items():
        assert law[name].value == pytest.approx(truth[short], rel=1e-6), name
        assert law[name].status == "ok"
    assert law.certificate.objective < 1e-20
    assert law.certificate.converged
    assert law.identified
    assert "1.20 [1.20, 1.20]" in verdict(law)


@pytest.mark.parametrize(
    ("name", "key", "reading"),
    [
        ("s02_noise_0p5pct", "fit", {}),
        ("s06_bad_rows", "fit_without", {"drop_bad": True}),
        ("s07_dup_x4", "fit", {}),
        ("s08_tokens_in_billions", "fit", {}),
        ("s09_loss_in_bits", "fit", {}),
        ("s10_outliers_5pct", "fit_mse", {}),
    ],
)
def test_fits_are_those_of_an_independent_program(
    fitted: Fitted, expected: dict[str, Any], name: str, key: str, reading: dict[str, Any]
) -> None:
    check_fit(fitted(table(name), **reading), expected[name][key])


def test_s02_holds_the_truth_within_three_errors(fitted: Fitted, expected: dict[str, Any]) -> None:
    law, truth = fitted(table("s02_noise_0p5pct")), expected["s02_noise_0p5pct"]["truth"]
    for short, name in ALL_NAMES.items():
        one = law[name]
        assert abs(one.value - truth[short]) < 3 * one.stderr, name
        assert one.interval[0] < one.value < one.interval[1]


def test_s03_one_dial_for_width_and_depth(fitted: Fitted, expected: dict[str, Any]) -> None:
    law, wanted = fitted(table("s03_collinear_w_eq_64l")), expected["s03_collinear_w_eq_64l"]["fit"]
    for name in ("c_width", "alpha_width", "c_depth", "alpha_depth"):
        one = law[name]
        assert (one.value, one.stderr, one.interval, one.status) == (None, None, None, "not-identified")
        assert "width and depth move together in every run" in one.reason
        assert "train runs that vary depth while width stays" in one.reason
    # what is determined is given all the same, and so are forecasts on the ray
    assert law["alpha_tokens"].status == law["c_tokens"].status == "ok"
    assert law["alpha_tokens"].value == pytest.approx(wanted["a_D"], rel=5e-5)
    assert law["alpha_tokens"].stderr == pytest.approx(wanted["se_D"], rel=5e-5)
    assert law.quality.mse == pytest.approx(wanted["mse"], rel=1e-6)
    assert np.abs(law.residuals()).max() < 0.02
    assert not law.identified


def test_s04_a_constant_depth_goes_into_the_floor(fitted: Fitted) -> None:
    law = fitted(table("s04_constant_depth"))
    assert law.form.scales == ("width", "tokens")
    assert len(law.point) == 5
    for name in ("c_depth", "alpha_depth"):
        assert (law[name].value, law[name].interval, law[name].status) == (None, None, "dropped")
        assert "every run has depth 16" in law[name].reason
    assert law["alpha_width"].value == pytest.approx(0.9, rel=1e-6)
    assert law["alpha_tokens"].value == pytest.approx(0.3, rel=1e-6)
    assert law["floor"].value == pytest.approx(1.7 + 5.0 * 16**-1.2, rel=1e-6)
    assert {"not-identified", "dropped"} <= {n.code for n in law.notices}
    assert not law.identified
    assert verdict(law).startswith("depth exponent not identified: every run has depth 16")


def test_s05_two_depths(fitted: Fitted, expected: dict[str, Any]) -> None:
    law, wanted = fitted(table("s05_two_depths")), expected["s05_two_depths"]["fit"]
    for name in ("c_depth", "alpha_depth", "floor"):
        one = law[name]
        assert (one.value, one.stderr, one.interval, one.status) == (None, None, None, "not-identified")
        assert "only two values of depth (8, 24)" in one.reason
    assert law["alpha_width"].value == pytest.approx(wanted["a_m"], rel=5e-5)
    assert law["alpha_tokens"].value == pytest.approx(wanted["a_D"], rel=5e-5)
    assert law.quality.mse == pytest.approx(wanted["mse"], rel=1e-6)


def test_s07_dropping_copies_gives_back_the_errors(fitted: Fitted) -> None:
    copied = fitted(table("s07_dup_x4"))
    single = fitted(table("s07_dup_x4"), drop_duplicates=True)
    original = fitted(table("s02_noise_0p5pct"))
    assert "duplicate-rows" in {n.code for n in copied.notices}
    assert "duplicate-rows" not in {n.code for n in single.notices}
    assert single.n_runs == 100
    for name in original.form.param_names:
        assert copied[name].value == pytest.approx(original[name].value, rel=1e-7)
        assert copied[name].stderr < 0.5 * original[name].stderr
        assert single[name].value == pytest.approx(original[name].value, rel=1e-9)
        assert single[name].stderr == pytest.approx(original[name].stderr, rel=1e-7)
        assert single[name].interval == pytest.approx(original[name].interval, rel=1e-6)


def test_s08_and_s09_are_s02_in_other_units(fitted: Fitted) -> None:
    original = fitted(table("s02_noise_0p5pct"))
    billions, bits = fitted(table("s08_tokens_in_billions")), fitted(table("s09_loss_in_bits"))
    assert "tokens-in-billions" in {n.code for n in billions.notices}
    assert "loss-looks-like-bits" in {n.code for n in bits.notices}
    for short in ("alpha_width", "alpha_depth", "alpha_tokens"):
        for other in (billions, bits):
            assert other[short].value == pytest.approx(original[short].value, rel=1e-7)
            assert other[short].stderr == pytest.approx(original[short].stderr, rel=1e-7)
            assert other[short].interval == pytest.approx(original[short].interval, rel=1e-5)
    in_billions = 1e-9 ** original["alpha_tokens"].value
    assert billions["c_tokens"].value == pytest.approx(original["c_tokens"].value * in_billions, rel=1e-6)
    for name in ("c_width", "c_depth", "c_tokens", "floor"):
        one, was = bits[name], original[name]
        assert one.value == pytest.approx(was.value / np.log(2), rel=1e-6)
        assert one.stderr / one.value == pytest.approx(was.stderr / was.value, rel=1e-6)
