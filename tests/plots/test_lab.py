"""Figures of the laboratory: what is named, and what an axis says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from depthlaw.lab.config import LabConfig, Student, Teacher
from depthlaw.lab.experiment import train_lab
from depthlaw.lab.exponents import Exponent, exponents, steps_tested
from depthlaw.lab.fingerprints import fingerprints
from depthlaw.plots import lab as plots
from depthlaw.plots.style import figure


def test_many_curves_are_named_by_five_of_them_in_order() -> None:
    with figure() as (_, axes):
        for k in range(16):
            axes[0].plot([1, 2], [k, k + 1], label=f"T={k}")
        plots.legend(axes[0])
        shown = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert shown == ["T=0", "T=4", "T=8", "T=11", "T=15"]


def test_few_curves_are_all_named_and_none_gives_no_legend() -> None:
    with figure(2) as (_, axes):
        for k in range(8):
            axes[0].plot([1, 2], [k, k + 1], label=f"T={k}")
        plots.legend(axes[0])
        plots.legend(axes[1])
        assert len(axes[0].get_legend().get_texts()) == 8
        assert axes[1].get_legend() is None


@pytest.mark.parametrize("depths", [(2, 3, 4, 6, 8, 12), (6, 12, 16, 24, 32, 48)])
def test_depths_are_the_ticks_and_do_not_touch(depths) -> None:
    with figure(size=(3.1, 2.7)) as (made, axes):
        axes[0].plot(depths, 1 / np.array(depths), "o")
        plots.scale_depth(axes[0], depths)
        made.canvas.draw()
        labels = axes[0].get_xticklabels()
        assert [label.get_text() for label in labels] == [str(depth) for depth in depths]
        boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_the_right_angle_is_named() -> None:
    with figure() as (_, axes):
        plots.draw_right_angle(axes[0])
        assert axes[0].get_lines()[0].get_ydata()[0] == pytest.approx(np.pi / 2)
        assert [text.get_text() for text in axes[0].texts] == [r"$\pi/2$"]


def test_few_temperatures_are_the_ticks() -> None:
    def row(temperature: float) -> Exponent:
        return Exponent(1.0, temperature, 10, "power", 1.0, 0.9, 1.1, 0.8, 1.2, 0.0, 1, 6, "ok")

    with figure() as (_, axes):
        plots.draw_exponents(axes[0], [row(t) for t in (0.117, 0.398, 1.0)], "temperature", "tied", "k")
        assert [label.get_text() for label in axes[0].get_xticklabels()] == ["0.12", "0.4", "1"]


@pytest.mark.parametrize(("depths", "drawn"), [((1, 2, 3), True), ((1, 2), False)])
def test_a_figure_that_would_be_empty_is_left_out(depths: tuple[int, ...], drawn: bool) -> None:
    config = LabConfig(
        rho=(0.0, 0.5, 1.0), width=4, hidden=8, steps=4, batch=8, log_every=2, test_every=2, test_batches=2,
        threads=1, engine="torch", teacher=Teacher(depth=2), student=Student(depths=depths),
    )  # fmt: skip
    result = train_lab(config)
    found = exponents(result.test_batches, steps=steps_tested(result.test_batches), resamples=0)
    figures = plots.figures(result, found, fingerprints(config, result.networks))
    assert {"loss_depth", "states"} <= set(figures)
    assert ({"exponent_rho", "exponent_step"} <= set(figures)) == drawn
    named = b"not identified" in figures["loss_depth"]["loss_depth.svg"]
    assert named != drawn
