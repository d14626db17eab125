"""Checkpoints that do not say which run they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.unlabelled import variance_by_group


def checkpoints(seed: int, run_noise: float, row_noise: float) -> dict[str, Any]:
    """Twelve shapes at eight token counts each, with one offset a shape."""
    rng = np.random.default_rng(seed)
    shapes = [(width, depth) for width in (256, 512, 1024, 2048) for depth in (6, 12, 48)]
    rows = np.array([(*shape, seen) for shape in shapes for seen in np.geomspace(1e9, 1e11, 8)], float)
    run = np.repeat(np.arange(12), 8)
    loss = 300 * rows[:, 0] ** -0.9 + 5 / rows[:, 1] + 350 * rows[:, 2] ** -0.28 + 1.7
    noise = run_noise * rng.standard_normal(12)[run] + row_noise * rng.standard_normal(96)
    return {"width": rows[:, 0], "depth": rows[:, 1], "tokens": rows[:, 2], "loss": loss * np.exp(noise)}


def codes(law: Fit) -> set[str]:
    return {notice.code for notice in law.notices}


@pytest.mark.parametrize("seed", range(3))
def test_residuals_that_go_together_by_shape_are_said(seed: int) -> None:
    table = checkpoints(seed, 0.01, 0.001)
    law = fit(table)
    assert "rows-share-shapes" in codes(law)
    by_run = fit({**table, "run_id": [f"run {row // 8:02d}" for row in range(96)]}, resamples=200)
    by_shape = fit(table, errors="shapes", resamples=200)
    assert "rows-share-shapes" not in codes(by_run) | codes(by_shape)
    assert "12 shapes" in by_shape.errors
    assert by_shape["alpha_depth"].value == law["alpha_depth"].value
    assert by_shape["alpha_depth"].interval == by_run["alpha_depth"].interval
    assert np.ptp(by_shape["alpha_depth"].interval) > 3 * np.ptp(law["alpha_depth"].interval)


def test_independent_rows_raise_no_such_notice() -> None:
    assert not [seed for seed in range(8) if "rows-share-shapes" in codes(fit(checkpoints(seed, 0, 0.005)))]


def test_a_column_of_steps_marks_checkpoints() -> None:
    table = checkpoints(0, 0.01, 0.001)
    said = {n.code for n in read_runs({**table, "global_step": np.tile(np.arange(8), 12)}).notices}
    assert "checkpoints-unlabelled" in said
    for harmless in ({"step": np.full(96, 5)}, {"steps": np.tile(np.arange(8), 12)}):
        assert "checkpoints-unlabelled" not in {n.code for n in read_runs({**table, **harmless}).notices}
    named = read_runs({**table, "step": np.tile(np.arange(8), 12), "run": np.repeat(np.arange(12), 8)})
    assert "checkpoints-unlabelled" not in {n.code for n in named.notices}


def test_the_analysis_of_variance_is_that_of_a_textbook() -> None:
    """Three groups of six: F = 9.3 with 2 and 15 degrees of freedom, p = .0024."""
    values = np.array([6, 8, 4, 5, 3, 4, 8, 12, 9, 11, 6, 8, 13, 9, 11, 8, 7, 12], float)
    share, probability = variance_by_group(values, np.repeat([0, 1, 2], 6), 2, 15)
    assert share == pytest.approx(84 / 152)
    assert probability == pytest.approx(0.0023987, rel=1e-3)
