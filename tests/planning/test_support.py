from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.laws.fit import Fit, fit
from depthlaw.planning.support import dials, distance, undetermined

Columns = dict[str, np.ndarray]


def test_runs_themselves_are_inside(made_fit: Fit) -> None:
    away = distance(made_fit, {s: made_fit.data[s] for s in made_fit.form.scales})
    assert (away.hull == 0).all()
    assert all((beyond == 0).all() for beyond in away.beyond.values())


def test_distance_is_in_log_units_and_signed(made_fit: Fit) -> None:
    away = distance(
        made_fit,
        {"width": np.array([4096.0, 512.0]), "depth": np.array([8.0, 2.0]), "tokens": np.array([1e10, 1e10])},
    )
    assert away.beyond["width"] == pytest.approx([np.log(2), 0])
    assert away.beyond["depth"] == pytest.approx([0, -np.log(2)])
    assert away.hull == pytest.approx([np.log(2), np.log(2)], rel=1e-6)
    assert away.words(0) == "outside the data by 0.69 log units (width 2× above the data)"


def test_a_combination_can_be_outside_where_each_scale_is_inside(made_table: Callable[..., Columns]) -> None:
    band = made_table()
    keep = np.abs(np.log(band["width"] / band["depth"] / 64)) < 0.8
    law = fit({name: column[keep] for name, column in band.items()}, starts=64)
    away = distance(law, {"width": np.array([2048.0]), "depth": np.array([4.0]), "tokens": np.array([1e10])})
    assert away.hull[0] > 0.9
    assert all(beyond[0] == 0 for beyond in away.beyond.values())
    assert "their combination is not" in away.words(0)


@given(weights=st.lists(st.floats(0, 1), min_size=48, max_size=48).filter(lambda w: sum(w) > 0.1))
@settings(max_examples=25, deadline=None)
def test_mixtures_of_runs_are_inside(made_fit: Fit, weights: list[float]) -> None:
    share = np.array(weights) / sum(weights)
    point = {s: np.array([np.exp(share @ np.log(made_fit.data[s]))]) for s in made_fit.form.scales}
    assert distance(made_fit, point).hull[0] < 1e-6


def test_one_dial_is_found_and_holds_only_on_its_line(made_table: Callable[..., Columns]) -> None:
    crossed = made_table()
    line = crossed["width"] == 64 * crossed["depth"]
    law = fit({name: column[line] for name, column in crossed.items()}, starts=64)
    (dial,) = dials(law)
    assert (dial.one, dial.other) == ("width", "depth")
    assert dial.slope == pytest.approx(1)
    assert dial.partner(np.array([1024.0])) == pytest.approx([16])
    mask, reasons = undetermined(
        law,
        {
            "width": np.array([1024.0, 1024.0]),
            "depth": np.array([16.0, 32.0]),
            "tokens": np.array([1e9, 1e9]),
        },
    )
    assert mask.tolist() == [False, True]
    assert "move together in every run" in reasons[0]


def test_two_depths_are_known_and_no_third(made_table: Callable[..., Columns]) -> None:
    law = fit(made_table(depths=(8.0, 16.0)), starts=64)
    points = {"width": np.full(3, 512.0), "depth": np.array([8.0, 12.0, 16.0]), "tokens": np.full(3, 1e10)}
    assert undetermined(law, points)[0].tolist() == [False, True, False]
