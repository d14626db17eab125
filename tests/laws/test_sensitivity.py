"""Exponents along choices that the data do not make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import UsageError
from depthlaw.laws.curves import Curve
from depthlaw.laws.sensitivity import sensitivity
from depthlaw.reproduce.made import made_runs


def along(curve: Curve, name: str) -> dict[float, float | None]:
    return {s.value: next((e.value for e in s.exponents if e.name == name), None) for s in curve.settings}


@pytest.mark.data
def test_the_exclusion_curve_is_the_certified_one(data_dir: Path) -> None:
    (curve,) = sensitivity(read_runs(data_dir / "runs/chinchilla.csv"), vary=("exclusion",), starts=64)
    found = along(curve, "alpha_depth")
    certified = {0: 1.191, 5: 0.929, 10: 0.951, 20: 1.044, 40: 1.325, 60: 1.658, 80: 1.870}
    for excluded, value in certified.items():
        assert found[excluded] == pytest.approx(value, abs=5e-4)
    at_zero = next(e for e in curve.settings[0].exponents if e.name == "alpha_depth")
    assert at_zero.stderr == pytest.approx(0.595, abs=5e-4)
    known = [value for value in found.values() if value is not None]
    assert max(known) / min(known) > 2  # the exclusion moves the exponent by a factor of two


def test_offset_delta_shapes_and_influence_on_made_runs() -> None:
    told: list[str] = []
    curves = {
        c.knob: c
        for c in sensitivity(
            made_runs(),
            vary=("offset", "delta", "shapes", "influence"),
            starts=64,
            resamples=100,
            progress=told.append,
        )
    }
    assert told == [f"varying {k}" for k in ("offset", "delta", "shapes", "influence")]
    offsets = along(curves["offset"], "alpha_depth")
    values = [v for v in offsets.values() if v is not None]
    assert (np.diff(values) < 0).all()  # the more is taken off, the flatter the power
    assert curves["offset"].base == 0
    assert curves["delta"].settings[-1].label == "mse"
    shapes = curves["shapes"]
    assert shapes.settings[0].label == "all shapes"
    assert all(s.n_runs < 60 for s in shapes.settings[1:])
    left = curves["influence"]
    full = along(left, "alpha_depth")[0.0]
    moves = [abs(v - full) for k, v in along(left, "alpha_depth").items() if k]
    assert moves == sorted(moves, reverse=True)
    assert {"label", "setting", "name", "value", "low", "high"} <= set(left.to_table().column_names)


def test_settings_that_cannot_be_fitted_say_why() -> None:
    runs = {name: values[:24] for name, values in made_runs().items()}
    (curve,) = sensitivity(runs, vary=("shapes",), starts=64)
    assert any(s.problem or any(e.status != "ok" for e in s.exponents) for s in curve.settings)


def test_a_form_without_depth_has_no_offset() -> None:
    with pytest.raises(UsageError, match="no depth to offset"):
        sensitivity(made_runs(), form="width + tokens", vary=("offset",))
