from __future__ import annotations

import numpy as np
import pytest

from depthlaw.laws.fit import Fit, fit
from depthlaw.planning.allocate import Laws, best_shape
from depthlaw.planning.counting import NOMINAL
from depthlaw.planning.design import design
from depthlaw.planning.plan import plan
from depthlaw.plots.design import draw_choice, draw_interval
from depthlaw.plots.plan import draw_equal_cost, draw_landscape, landscape
from depthlaw.plots.style import figure, rendered
from depthlaw.reproduce.made import made_runs


@pytest.fixture(scope="module")
def law() -> Fit:
    return fit(made_runs(), starts=64)


def test_the_landscape_holds_the_plan_and_its_line(law: Fit) -> None:
    p = plan(law, params=1e9, shape=("1024x64",), resamples=60)
    land = landscape(law, p, points=40)
    assert land.width[0] < p.width.value < land.width[-1]
    assert land.depth[0] < p.depth.low < p.depth.high < land.depth[-1]
    on_line = np.interp(np.log(p.width.value), np.log(land.line_width), np.log(land.line))
    assert np.exp(on_line) == pytest.approx(p.depth.value, rel=1e-3)
    best = best_shape(Laws(law.form, law.point[None]), NOMINAL, 1e10)
    assert best.depth[0] == pytest.approx(
        np.exp(np.interp(np.log(best.width[0]), np.log(land.line_width), np.log(land.line))), rel=0.05
    )
    assert (land.low < land.line).all()
    assert (land.line < land.high).all()
    assert (np.diff(land.loss, axis=0) < 0).all()
    with figure(2) as (made, axes):
        draw_landscape(axes[0], land, law, p, NOMINAL)
        draw_equal_cost(axes[1], p)
        labels = {text.get_text() for text in axes[0].texts}
        assert "1024 × 64" in labels
        assert set(rendered(made, "plan")) == {"plan.pdf", "plan.png", "plan.svg"}


@pytest.mark.parametrize(
    "goal", [{"goal": "alpha_depth"}, {"goal": "best-depth", "params": 1e9}, {"goal": "all"}]
)
def test_a_design_is_drawn(law: Fit, goal: dict[str, object]) -> None:
    d = design(law, budget=1e20, resamples=16, **goal)
    with figure(2) as (made, axes):
        draw_choice(axes[0], law, d)
        draw_interval(axes[1], d)
        names = [label.get_text() for label in axes[1].get_yticklabels()]
        assert names == ["after these runs", "after a plain grid", "expected now"]
        assert rendered(made, "design") == rendered(made, "design")
