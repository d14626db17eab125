"""What a table cannot tell, said in words, and never too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from depthlaw.errors import FitError
from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.form import Form
from depthlaw.laws.identify import gaps_before, listing, suggest
from depthlaw.numerics.terms import Array
from depthlaw.reproduce.made import made_runs

Made = Callable[..., dict[str, Array]]
NAMES = ("alpha_width", "alpha_depth", "alpha_tokens", "floor")


def statuses(law: Fit) -> dict[str, str]:
    return {name: str(law[name].status) for name in NAMES}


def on_one_dial(table: dict[str, Array]) -> dict[str, Array]:
    keep = table["width"] == 64 * table["depth"]
    return {name: values[keep] for name, values in table.items()}


def test_a_crossed_table_has_no_gap(made_table: Made, made_fit: Fit) -> None:
    table = made_table()
    scales = {s: table[s] for s in ("width", "depth", "tokens")}
    assert gaps_before(Form.parse("width + depth + tokens"), scales) == ()
    assert set(statuses(made_fit).values()) == {"ok"}
    assert made_fit.identified
    assert not [n for n in made_fit.notices if n.code in ("not-identified", "boundary", "not-converged")]


@pytest.mark.parametrize(
    ("settings", "gap"),
    [
        ({}, True),
        ({"floor": False}, False),
        ({"fix": {"floor": 1.7}}, False),
        ({"fix": {"alpha_depth": 1.2}}, False),
        ({"fix": {"c_depth": 5.0}}, False),
        ({"tie": ("alpha_depth=alpha_width",)}, False),
        ({"tie": ("alpha_width=alpha_depth",)}, False),
    ],
)
def test_two_depths_are_enough_when_something_else_is_known(
    made_table: Made, settings: dict[str, Any], gap: bool
) -> None:
    law = fit(made_table(depths=(8, 24), alpha_width=1.1, alpha_depth=1.1), **settings)
    assert (law["alpha_depth"].status == "not-identified") is gap
    if gap:
        assert law["floor"].status == "not-identified"
        assert law["floor"].reason == law["alpha_depth"].reason
        assert "only two values of depth (8, 24)" in law["alpha_depth"].reason
        assert law["alpha_width"].status == "ok"
    else:
        assert law.identified
        assert law["alpha_depth"].value is not None


def test_a_tie_may_be_written_either_way(made_table: Made) -> None:
    table = made_table(alpha_width=1.0, alpha_depth=1.0)
    one, other = (fit(table, tie=(t,)) for t in ("alpha_width=alpha_depth", "alpha_depth=alpha_width"))
    assert statuses(one)["alpha_width"] == statuses(other)["alpha_depth"] == "tied"
    for name in NAMES:
        assert one[name].value == pytest.approx(other[name].value, rel=1e-8)
        assert one[name].stderr == pytest.approx(other[name].stderr, rel=1e-6)
    assert one["alpha_width"].reason == "tied to alpha_depth"
    assert one["alpha_width"].interval == one["alpha_depth"].interval


def test_a_single_value_is_dropped_into_the_floor(made_table: Made) -> None:
    law = fit(made_table(depths=(16,)))
    assert statuses(law)["alpha_depth"] == "dropped"
    assert "train runs at width 1024 with depth 8, 32" in law["alpha_depth"].reason
    assert str(law.form) == "width + tokens + floor"
    assert [p.name for p in law.params][:4] == ["c_width", "alpha_width", "c_depth", "alpha_depth"]
    floor = law["floor"]
    assert abs(floor.value - (1.7 + 5 * 16**-1.2)) < 3 * floor.stderr


@pytest.mark.parametrize("settings", [{"floor": False}, {"fix": {"floor": 1.7}}])
def test_a_single_value_without_a_free_floor_is_refused(made_table: Made, settings: dict[str, Any]) -> None:
    """The term is a constant, and nothing is left in the law that could be one."""
    with pytest.raises(FitError, match="every run has the same depth, and no free floor"):
        fit(made_table(depths=(16,)), **settings)


def test_nothing_varies(made_table: Made) -> None:
    with pytest.raises(FitError, match="every run has the same depth"):
        fit({"depth": [8] * 9, "loss": np.linspace(3, 3.1, 9)}, form="depth")


def test_one_dial_for_two_scales(made_table: Made) -> None:
    dial = tuple(64.0 * 2 ** np.arange(1, 6.1, 0.5))
    law = fit(on_one_dial(made_table(widths=dial, depths=tuple(w / 64 for w in dial))))
    assert statuses(law) | {"floor": ""} == {
        "alpha_width": "not-identified",
        "alpha_depth": "not-identified",
        "alpha_tokens": "ok",
        "floor": "",
    }
    assert "width and depth move together in every run (correlation of their logs 1.00)" in (
        law["alpha_width"].reason
    )
    assert law["alpha_tokens"].interval[0] < 0.3 < law["alpha_tokens"].interval[1]
    np.testing.assert_allclose(law.residuals(), 0.0, atol=0.016)  # on the dial all is well


def test_one_dial_with_both_exponents_given_leaves_coefficients_that_can_be_known(made_table: Made) -> None:
    table = on_one_dial(made_table(tokens=(1e9, 4e9, 1e10, 1e11)))
    law = fit(table, fix={"alpha_width": 0.9, "alpha_depth": 1.2})
    for name, truth in (("c_width", 300.0), ("c_depth", 5.0)):
        assert law[name].status == "ok"
        assert law[name].interval[0] < truth < law[name].interval[1]
    equal = fit(table, fix={"alpha_width": 1.0, "alpha_depth": 1.0})
    assert equal["c_width"].status == equal["c_depth"].status == "not-identified"
    assert "only in combination with c_depth" in equal["c_width"].reason


def test_almost_one_dial_is_left_to_the_profiles(made_table: Made) -> None:
    table = on_one_dial(made_table(widths=(256, 512, 1024, 2048), tokens=(1e9, 4e9, 1e10, 1e11)))
    table["depth"] = table["depth"] + np.array([0, 1, 0, -1] * 4)
    scales = {s: table[s] for s in ("width", "depth")}
    assert gaps_before(Form.parse("width + depth"), scales) == ()
    law = fit(table, starts=64)
    assert law["alpha_depth"].status == "not-identified"
    assert "any exponent fits as well" in law["alpha_depth"].reason
    assert law["c_depth"].status == "not-identified"
    assert law["alpha_tokens"].status == "ok"


def test_a_term_without_effect_has_no_exponent(made_table: Made) -> None:
    law = fit(made_table(c_depth=1e-9, noise=0.002))
    assert law["alpha_depth"].status == "not-identified"
    assert "any exponent fits as well" in law["alpha_depth"].reason
    assert law["alpha_width"].status == law["alpha_tokens"].status == "ok"


def test_a_loss_that_rises_with_depth_is_called_that() -> None:
    runs = made_runs()
    width, depth, tokens = (np.array(runs[name], float) for name in ("d_model", "n_layers", "tokens"))
    loss = 300 * width**-0.9 + 0.3 * depth**0.3 + 350 * tokens**-0.28 + 1.7
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(60))
    law = fit({**runs, "loss": loss * noise}, starts=64)
    said = "the loss does not fall with depth, all else equal it rises (by 14 % from depth 6 to 48)"
    assert law["alpha_depth"].reason == law["c_depth"].reason == said
    assert law["floor"].reason == f"{said}; a constant term cannot be told from the floor"
    assert law["alpha_tokens"].status == "ok"


def test_a_flat_table_knows_neither_exponent_nor_floor() -> None:
    law = fit({"tokens": [1e9, 1e10, 1e11, 1e12], "loss": [3.01, 3.02, 3.0, 3.015]}, starts=64)
    for name in ("c_tokens", "alpha_tokens", "floor"):
        assert (law[name].value, law[name].interval, law[name].status) == (None, None, "not-identified")
    assert "any exponent fits as well" in law["alpha_tokens"].reason
    assert law["floor"].reason == (
        "any floor from 0 up to the largest loss fits as well; add larger runs, closer to the floor"
    )


def test_listing_and_suggestion() -> None:
    assert listing(np.array([24.0, 8, 8, 24])) == "8, 24"
    assert listing(np.arange(1.0, 9.0)) == "1, 2, 3, 4, 5, 6, …"
    scales = {"width": np.array([512.0, 512, 1024]), "depth": np.array([8.0, 24, 24])}
    assert suggest("depth", scales) == "train runs at width 512 with depth 4, 14, 48, all else equal"
    tokens = {"tokens": np.array([1e9, 1e10])}
    assert suggest("tokens", tokens) == "train runs with tokens 5e+08, 3.162e+09, 2e+10, all else equal"
    assert suggest("floor", scales) == "add larger runs, closer to the floor"
    # never a value that is there already, and never less than one block
    assert "depth 1," not in suggest("depth", {"depth": np.array([1.0, 2])})
