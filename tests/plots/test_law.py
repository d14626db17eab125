"""What the figures of a law show, and that nothing odd in a fit makes them fail or warn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.result import Estimate, ProfileCurve, Status
from depthlaw.plots.law import LossPart, draw_loss_part, draw_profile, draw_residuals, loss_part
from depthlaw.plots.style import figure


def drawn(part: LossPart, estimate: Estimate) -> Any:
    """Draw a part to the last pixel; returns what its legend and texts say and its limits."""
    with figure() as (made, axes):
        ax = draw_loss_part(axes[0], part, estimate)
        made.canvas.draw()
        words = [text.get_text() for text in (*ax.texts, *ax.get_legend().get_texts())]
        return words, ax.get_xlim(), ax.get_ylim()


def test_a_part_is_the_loss_less_the_other_terms(made_fit: Fit) -> None:
    part = loss_part(made_fit, "depth")
    terms, loss = made_fit.terms(), made_fit.data["loss"]
    np.testing.assert_allclose(
        part.part, loss - terms["width"] - terms["tokens"] - terms["floor"], rtol=1e-12
    )
    np.testing.assert_allclose(part.part - terms["depth"], loss - made_fit.predict(), atol=1e-12)
    assert part.level.tolist() == pytest.approx([6, 10, 16, 28, 48])
    assert part.count.tolist() == [12] * 5
    for level, mean, stderr in zip(part.level, part.mean, part.stderr, strict=True):
        group = part.part[np.isclose(part.x, level)]
        assert mean == pytest.approx(group.mean(), rel=1e-12)
        assert stderr == pytest.approx(group.std(ddof=1) / np.sqrt(12), rel=1e-9)


def test_the_curve_is_the_fitted_power_within_its_band(made_fit: Fit) -> None:
    part = loss_part(made_fit, "depth")
    c, alpha = made_fit["c_depth"].value, made_fit["alpha_depth"].value
    np.testing.assert_allclose(part.curve, c * part.curve_x**-alpha, rtol=1e-10)
    assert (part.curve_x[0], part.curve_x[-1]) == (pytest.approx(6), pytest.approx(48))
    assert (part.low < part.curve).all()
    assert (part.curve < part.high).all()
    # at one point: the error of ln c - α ln x from the covariance
    design = np.array([1.0, -np.log(part.curve_x[50])])
    error = np.sqrt(design @ made_fit.covariance[2:4, 2:4] @ design)
    assert np.log(part.high[50] / part.curve[50]) == pytest.approx(1.96 * error, rel=1e-9)


def test_an_offset_is_in_the_curve(made_fit: Fit) -> None:
    shifted = replace(made_fit, form=replace(made_fit.form, offsets={"depth": 2.0}))
    part = loss_part(shifted, "depth")
    c, alpha = made_fit["c_depth"].value, made_fit["alpha_depth"].value
    np.testing.assert_allclose(part.curve, c * (part.curve_x - 2) ** -alpha, rtol=1e-10)


def test_many_values_are_binned() -> None:
    tokens = np.geomspace(1e8, 1e12, 200)
    loss = (2.0 + 500 * tokens**-0.3) * np.exp(0.001 * np.random.default_rng(0).standard_normal(200))
    part = loss_part(fit({"tokens": tokens, "loss": loss}, starts=64), "tokens", bins=10)
    assert len(part.level) == 10
    assert part.count.sum() == 200
    assert (np.diff(part.level) > 0).all()
    assert part.count.tolist() == [20.0] * 10


def test_a_part_with_an_exponent_shows_it(made_fit: Fit) -> None:
    one = made_fit["alpha_depth"]
    words, xlim, ylim = drawn(loss_part(made_fit, "depth"), one)
    assert rf"$\ell^{{-{one.value:.2f}}}$" in words
    assert {"runs", "mean ± s.e."} <= set(words)
    assert xlim[0] < 6 < 48 < xlim[1]
    assert ylim[0] > 0


def test_a_part_without_an_exponent_shows_none(unknown_fit: Fit) -> None:
    words, _, _ = drawn(loss_part(unknown_fit, "depth"), unknown_fit["alpha_depth"])
    assert words == ["runs", "mean ± s.e."]
    words, _, _ = drawn(loss_part(unknown_fit, "width"), unknown_fit["alpha_width"])
    assert len(words) == 3


def test_a_term_that_is_a_step_can_be_drawn(step_fit: Fit) -> None:
    assert step_fit["alpha_depth"].status == "not-identified"
    part = loss_part(step_fit, "depth")
    assert (part.part <= 0).any()  # runs below the floor, by noise
    words, _, ylim = drawn(part, step_fit["alpha_depth"])
    assert any("below the axis" in word for word in words)
    assert 0 < ylim[0] < ylim[1] < np.inf


@pytest.mark.parametrize("power", [-1, -8, -200])
def test_a_term_of_nothing_can_be_drawn(made_fit: Fit, power: int) -> None:
    part = loss_part(made_fit, "depth")
    shrunk = 10.0**power
    small = replace(part, part=part.part * shrunk, mean=part.mean * shrunk, stderr=part.stderr * shrunk)
    small = replace(small, curve=part.curve * shrunk, low=part.low * shrunk, high=part.high * shrunk)
    drawn(small, made_fit["alpha_depth"])


def test_runs_below_zero_are_counted_not_drawn(made_fit: Fit) -> None:
    part = loss_part(made_fit, "depth")
    values = part.part.copy()
    values[:3] = [-0.1, -0.2, 0.0]
    words, _, _ = drawn(replace(part, part=values), made_fit["alpha_depth"])
    assert "3 runs below the axis" in words


def test_nothing_above_zero_still_draws(made_fit: Fit) -> None:
    part = loss_part(made_fit, "depth")
    below = replace(part, part=-np.abs(part.part), mean=-np.abs(part.mean))
    words, _, _ = drawn(below, made_fit["alpha_depth"])
    assert "60 runs below the axis" in words


def test_single_runs_have_no_error_bar() -> None:
    depth = np.array([4.0, 6, 9, 14, 20, 30, 45])
    noise = 0.002 * np.random.default_rng(0).standard_normal(7)
    law = fit({"depth": depth, "loss": (2 + 5 / depth) * np.exp(noise)}, form="depth", starts=64)
    part = loss_part(law, "depth")
    assert part.count.tolist() == [1.0] * 7
    assert np.isnan(part.stderr).all()
    drawn(part, law["alpha_depth"])


def test_residuals_in_percent_with_their_band(made_fit: Fit) -> None:
    with figure() as (made, axes):
        ax = draw_residuals(axes[0], made_fit)
        made.canvas.draw()
        zero, points, low, high = ax.get_lines()
    np.testing.assert_allclose(points.get_ydata(), 100 * np.expm1(made_fit.residuals()), rtol=1e-12)
    np.testing.assert_allclose(points.get_xdata(), made_fit.predict(), rtol=1e-12)
    rms = np.sqrt(made_fit.quality.mse)
    band = [100 * np.expm1(-1.96 * rms), 0, 100 * np.expm1(1.96 * rms)]
    assert [line.get_ydata()[0] for line in (low, zero, high)] == pytest.approx(band)


@pytest.mark.parametrize("name", ["alpha_depth", "c_tokens"])
def test_profiles_cross_the_threshold_at_the_ends(made_fit: Fit, name: str) -> None:
    (curve,) = [c for c in made_fit.profiles if c.name == name]
    with figure() as (made, axes):
        ax = draw_profile(axes[0], curve, made_fit[name])
        made.canvas.draw()
        lines = ax.get_lines()
    assert lines[0].get_ydata().max() <= 1.6 * curve.threshold
    low, high = made_fit[name].interval
    ends = [line.get_xdata()[0] for line in lines[2:]]
    wanted = np.log10([low, high]) if name.startswith("c_") else [low, high]
    assert ends == pytest.approx(list(wanted), rel=1e-12)


def test_a_profile_without_an_end_has_no_end_marked(step_fit: Fit) -> None:
    (curve,) = [c for c in step_fit.profiles if c.name == "alpha_depth"]
    with figure() as (made, axes):
        ax = draw_profile(axes[0], curve, step_fit["alpha_depth"])
        made.canvas.draw()
        assert len(ax.get_lines()) == 2


def test_a_profile_of_a_coefficient_that_overflows() -> None:
    curve = ProfileCurve("c_tokens", np.array([0.0, 1e300, np.inf]), np.array([-3.0, 0.0, 3.0]), 2.0)
    unknown = Estimate("c_tokens", None, None, None, Status.NOT_IDENTIFIED, "why")
    with figure() as (made, axes):
        draw_profile(axes[0], curve, unknown)
        made.canvas.draw()
