from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from depthlaw.errors import Notice, UsageError
from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.result import Estimate, Status
from depthlaw.numerics.terms import Array


def test_terms_add_up_to_the_prediction(made_fit: Fit) -> None:
    terms = made_fit.terms()
    assert list(terms) == ["width", "depth", "tokens", "floor"]
    np.testing.assert_allclose(sum(terms.values()), made_fit.predict(), rtol=1e-14)
    for scale in ("width", "depth", "tokens"):
        c, alpha = made_fit[f"c_{scale}"].value, made_fit[f"alpha_{scale}"].value
        np.testing.assert_allclose(terms[scale], c * made_fit.data[scale] ** -alpha, rtol=1e-10)
    assert set(terms["floor"]) == {made_fit["floor"].value}


def test_residuals_are_logs_of_predicted_over_observed(made_fit: Fit) -> None:
    np.testing.assert_allclose(
        made_fit.residuals(), np.log(made_fit.predict() / made_fit.data["loss"]), rtol=1e-9, atol=1e-15
    )
    assert made_fit.at(made_fit.point).tolist() == made_fit.predict().tolist()


def test_predictions_elsewhere(made_fit: Fit) -> None:
    scales = {"width": np.array([[4096.0], [8192]]), "depth": np.array([[64.0], [64]])}
    scales["tokens"] = np.array([[1e12], [1e13]])
    predicted = made_fit.predict(scales)
    assert predicted.shape == (2, 1)
    assert (predicted > made_fit["floor"].value).all()
    assert predicted[1, 0] < predicted[0, 0] < made_fit.data["loss"].min()
    as_lists = made_fit.predict({name: values.ravel().tolist() for name, values in scales.items()})
    assert as_lists.tolist() == predicted.ravel().tolist()


def test_predictions_need_every_scale_above_its_offset(made_fit: Fit) -> None:
    with pytest.raises(UsageError, match="needs a value for depth"):
        made_fit.predict({"width": np.array([1024.0])})
    shifted = replace(made_fit, form=replace(made_fit.form, offsets={"depth": 2.0}))
    scales = {"width": np.array([1.0]), "depth": np.array([2.0]), "tokens": np.array([1.0])}
    with pytest.raises(UsageError, match="depth offset 2"):
        shifted.predict(scales)


def test_an_offset_counts_in_predictions(made_table: Callable[..., dict[str, Array]]) -> None:
    table = made_table(depths=(4, 6, 10, 18, 34))
    law = fit(table, depth_offset=2.0, starts=64)
    c, alpha = law["c_depth"].value, law["alpha_depth"].value
    np.testing.assert_allclose(law.terms()["depth"], c * (table["depth"] - 2.0) ** -alpha, rtol=1e-10)


def test_estimates_are_found_by_name(made_fit: Fit) -> None:
    assert made_fit["alpha_depth"].name == "alpha_depth"
    with pytest.raises(UsageError, match="alpha_params"):
        made_fit["alpha_params"]


def test_a_fit_as_a_tidy_table(made_fit: Fit) -> None:
    odd = Estimate("floor", None, None, None, Status.NOT_IDENTIFIED, "why")
    rows = replace(made_fit, params=(*made_fit.params[:-1], odd)).to_table().to_pylist()
    assert len(rows) == 7
    first = made_fit.params[0]
    assert rows[0] == {
        "name": "c_width",
        "value": first.value,
        "stderr": first.stderr,
        "low": first.interval[0],
        "high": first.interval[1],
        "status": "ok",
        "reason": "",
    }
    assert (rows[-1]["value"], rows[-1]["low"], rows[-1]["status"]) == (None, None, "not-identified")


def test_a_fit_in_a_notebook(made_fit: Fit) -> None:
    odd = Estimate("floor", None, None, None, Status.NOT_IDENTIFIED, 'a "quoted" <reason>')
    page = replace(made_fit, params=(*made_fit.params[:-1], odd))._repr_html_()
    assert page.startswith("<div><b>loss = width + depth + tokens + floor, 48 runs of ")
    assert page.count("<tr>") == 8
    assert "95% interval" in page
    assert "a &quot;quoted&quot; &lt;reason&gt;" in page
    assert "<td>–</td><td>–</td><td>–</td>" in page


def test_a_notebook_shows_each_reason_once(made_fit: Fit) -> None:
    why = "only two values of depth"
    odd = [Estimate(p.name, None, None, None, Status.NOT_IDENTIFIED, why) for p in made_fit.params[-2:]]
    notice = Notice("not-identified", f"depth and floor: {why}.")
    page = replace(made_fit, params=(*made_fit.params[:-2], *odd), notices=(notice,))._repr_html_()
    assert page.count(why) == 1


def test_profiles_are_in_natural_units_and_hold_the_interval(made_fit: Fit) -> None:
    assert {curve.name for curve in made_fit.profiles} == {p.name for p in made_fit.params}
    for curve in made_fit.profiles:
        low, high = made_fit[curve.name].interval
        assert np.interp(low, curve.value, curve.zeta) == pytest.approx(-curve.threshold, rel=1e-3)
        assert np.interp(high, curve.value, curve.zeta) == pytest.approx(curve.threshold, rel=1e-3)
        at = np.argmin(np.abs(curve.zeta))
        assert curve.value[at] == pytest.approx(made_fit[curve.name].value, rel=1e-9)
