from __future__ import annotations

import pytest

from depthlaw.errors import UsageError
from depthlaw.laws.config import FitConfig


@pytest.mark.parametrize(
    ("columns", "form"),
    [
        (("width", "depth", "tokens", "params", "loss"), "width + depth + tokens + floor"),
        (("width", "depth", "loss"), "width + depth + floor"),
        (("depth", "params", "tokens", "loss"), "depth + tokens + floor"),
        (("params", "tokens", "flops", "loss"), "params + tokens + floor"),
        (("flops", "loss"), "flops + floor"),
        (("tokens", "loss"), "tokens + floor"),
    ],
)
def test_auto_takes_what_the_table_has(columns: tuple[str, ...], form: str) -> None:
    assert str(FitConfig().resolve(columns)) == form


def test_auto_without_any_scale_says_how_to_name_one() -> None:
    with pytest.raises(UsageError, match="no column for width, depth, tokens, params or flops") as error:
        FitConfig().resolve(("loss",), "my.csv", ("a", "loss"))
    assert "my.csv has" in str(error.value)
    assert "(have: a, loss)" in str(error.value)
    assert "--width" in str(error.value)


def test_all_settings_reach_the_form() -> None:
    config = FitConfig(
        form="width+depth",
        floor=False,
        depth_offset=2.0,
        fix={"alpha_depth": 1.0},
        tie=(" alpha_width = alpha_depth ",),
    )
    form = config.resolve(("width", "depth", "loss"))
    assert str(form) == "width + (depth - 2)"
    assert dict(form.fixed) == {"alpha_depth": 1.0}
    assert form.tied == (("alpha_width", "alpha_depth"),)


@pytest.mark.parametrize("tie", ["alpha_width", "alpha_width=", "=alpha_depth", ""])
def test_a_tie_that_is_none(tie: str) -> None:
    with pytest.raises(UsageError, match="cannot read the tie"):
        FitConfig(tie=(tie,)).resolve(("width", "depth", "loss"))


def test_an_offset_needs_a_depth_term() -> None:
    with pytest.raises(UsageError, match="no depth term"):
        FitConfig(form="params", depth_offset=2.0).resolve(("params", "loss"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"level": 95.0}, "level 95"),
        ({"level": 1.0}, "level 1"),
        ({"level": 0.05}, "level 0.05"),
        ({"starts": 63}, "63 starts are too few"),
    ],
)
def test_settings_out_of_range(settings: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        FitConfig(**settings)  # type: ignore[arg-type]
