"""Exponents of made losses, where they are known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import stdtrit

from depthlaw.lab.exponents import exponents, steps_tested

DEPTHS = (6, 12, 16, 24, 32, 48)


def losses(
    alpha: float, floor: float = 0.0, *, spread: float = 0.0, noise: float = 0.0, replicas: int = 3
) -> pa.Table:
    """Test losses .02·depth^-alpha + floor; ``spread`` of ln c over replicas, ``noise`` over batches."""
    rng = np.random.default_rng(0)
    rows = []
    for step in (500, 1000):
        for replica in range(replicas):
            scale = 0.02 * np.exp(spread * (replica - (replicas - 1) / 2))
            for batch in range(10):
                jitter = np.exp(noise * rng.standard_normal())  # the same batch for all depths
                rows += [
                    {
                        "replica": replica,
                        "temperature": None,
                        "rho": 0.0,
                        "depth": depth,
                        "step": step,
                        "batch": batch,
                        "test_loss": (scale * depth**-alpha + floor) * jitter,
                    }
                    for depth in DEPTHS
                ]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_a_power_law_gives_its_exponent_whatever_teachers_and_batches_do(alpha: float) -> None:
    found = exponents(losses(alpha, spread=0.7, noise=0.2), floor=(False,)).rows[0]
    assert (found.step, found.form, found.replicas, found.depths, found.status) == (1000, "power", 3, 6, "ok")
    assert found.alpha == pytest.approx(alpha, abs=1e-9)
    assert found.low == pytest.approx(alpha, abs=1e-6)  # batches are resampled as pairs
    assert found.high == pytest.approx(alpha, abs=1e-6)


def test_with_a_floor_in_the_data_only_the_form_with_one_finds_the_exponent() -> None:
    power, floored = exponents(losses(1.1, 1e-4)).rows
    assert power.alpha < 1.05
    assert floored.alpha == pytest.approx(1.1, abs=1e-6)
    assert floored.floor == pytest.approx(1e-4, rel=1e-6)
    assert power.fit_high - power.fit_low > 0.01  # no power law, and the fit says so


@pytest.mark.parametrize("replicas", [1, 3])
def test_interval_is_students_over_replicates_or_the_batches_of_one(replicas: int) -> None:
    slopes = 1.0 + 0.05 * np.random.default_rng(1).standard_normal(3 if replicas > 1 else 10)
    rows = losses(1.0, replicas=replicas).to_pylist()
    for row in rows:
        slope = slopes[row["replica" if replicas > 1 else "batch"]]
        row["test_loss"] = 0.02 * row["depth"] ** -slope
    found = exponents(pa.Table.from_pylist(rows), floor=(False,), resamples=4000).rows[0]
    half = stdtrit(len(slopes) - 1, 0.975) * slopes.std(ddof=1) / np.sqrt(len(slopes))
    assert found.alpha == pytest.approx(slopes.mean(), abs=1e-9)
    assert found.high - found.alpha == pytest.approx(half, rel=0.05)
    assert found.alpha - found.low == pytest.approx(half, rel=0.05)


def test_one_replicate_and_one_batch_give_no_interval() -> None:
    rows = [row for row in losses(1.0, replicas=1).to_pylist() if row["batch"] == 0]
    found = exponents(pa.Table.from_pylist(rows), floor=(False,)).rows[0]
    assert found.alpha == pytest.approx(1.0)
    assert (found.low, found.high) == (None, None)


def test_an_interval_over_few_teachers_holds_the_truth_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(2), 0
    for _ in range(100):
        slopes = 1.0 + 0.05 * rng.standard_normal(3)
        table = pa.Table.from_pylist(
            [
                row | {"test_loss": 0.02 * row["depth"] ** -slopes[row["replica"]]}
                for row in losses(1.0).slice(3 * 60).to_pylist()
                if row["batch"] < 2
            ]
        )
        (found,) = exponents(table, floor=(False,)).rows
        held += found.low <= 1.0 <= found.high
    assert held >= 90  # of 95; percentiles hold it in about 75


def test_depths_and_steps_can_be_chosen() -> None:
    table = losses(1.0)
    assert steps_tested(table) == [500, 1000]
    found = exponents(table, depths=(12, 24, 48), steps=(500, 1000), floor=(False,))
    assert [(row.step, row.depths) for row in found.rows] == [(500, 3), (1000, 3)]
    assert found.to_table().num_rows == 2
    assert found.select(step=500) == (found.rows[0],)


def test_too_few_depths_are_not_identified() -> None:
    for row in exponents(losses(1.0), depths=(6, 12)).rows:
        assert row.alpha is None
        assert row.status == "not-identified"


def test_a_curve_that_bends_the_other_way_has_no_floor_and_still_an_answer() -> None:
    rows = losses(0.05).to_pylist()
    for row in rows:
        row["test_loss"] -= 3e-5 * row["depth"]
    power, floored = exponents(pa.Table.from_pylist(rows)).rows
    assert power.alpha > 0.05
    assert floored.status in ("ok", "not-identified")
