"""What comparisons and sensitivity curves look like: within a page's width, with reasons below the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from depthlaw.errors import FitError
from depthlaw.laws.compare import compare
from depthlaw.laws.sensitivity import sensitivity
from depthlaw.report.compare import compare_text
from depthlaw.report.sensitivity import sensitivity_text
from depthlaw.reproduce.made import made_runs


def few(count: int) -> dict[str, np.ndarray]:
    """The rows of the lowest losses: they differ in every scale."""
    runs = {name: np.array(values) for name, values in made_runs().items()}
    keep = np.argsort(runs["loss"])[:count]
    return {name: values[keep] for name, values in runs.items()}


def test_a_comparison_is_at_most_100_columns_wide_and_says_why_below() -> None:
    result = compare(made_runs(), starts=64, splits=2)
    failed = replace(result.contenders[-1], problem="too few runs for it")
    text = compare_text(replace(result, contenders=(*result.contenders[:-1], failed)))
    tables, _, below = text.partition("held out: rms")
    assert "too few" not in tables
    assert f"{failed.name}: too few runs for it\n" in below
    assert "residual %" in below
    assert max(map(len, text.splitlines()[:-1])) <= 104


def test_few_rows_have_a_curve_of_one_point_and_too_few_are_refused() -> None:
    (curve,) = sensitivity(few(20), starts=64, vary=("exclusion",))
    assert [setting.label for setting in curve.settings] == ["rows as given"]
    assert "rows as given *    20" in sensitivity_text([curve])
    with pytest.raises(FitError, match="cannot determine the 7 parameters"):
        sensitivity(few(5), starts=64, vary=("exclusion",))
