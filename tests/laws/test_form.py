from __future__ import annotations

import numpy as np
import pytest

from depthlaw.errors import UsageError
from depthlaw.laws.form import LARGEST_EXPONENT, Form, bind, scale_of, to_coordinate, to_value

SCALES = {"width": np.array([256.0, 512, 1024, 2048]), "depth": np.array([4.0, 8, 16, 33])}
LOSS = np.array([4.0, 3.5, 3.2, 3.0])


@pytest.mark.parametrize(
    ("text", "scales", "offsets"),
    [
        ("width + depth + tokens", ("width", "depth", "tokens"), {}),
        ("params+tokens", ("params", "tokens"), {}),
        (" flops ", ("flops",), {}),
        ("width + (depth - 2) + tokens", ("width", "depth", "tokens"), {"depth": 2.0}),
        ("(depth-1.5)", ("depth",), {"depth": 1.5}),
        ("depth - 2", ("depth",), {"depth": 2.0}),
    ],
)
def test_a_form_is_read(text: str, scales: tuple[str, ...], offsets: dict[str, float]) -> None:
    form = Form.parse(text)
    assert (form.scales, dict(form.offsets), form.floor) == (scales, offsets, True)


@pytest.mark.parametrize("text", ["width + (depth - 2) + tokens + floor", "params + floor"])
def test_a_form_is_written_as_it_is_read(text: str) -> None:
    form = Form.parse(text.removesuffix(" + floor"))
    assert str(form) == text
    assert str(Form.parse("params", floor=False)) == "params"


@pytest.mark.parametrize("text", ["", "width ++ depth", "width * depth", "3 + depth", "depth^2", "width + "])
def test_what_is_no_form_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read the term"):
        Form.parse(text)


def test_param_names_keep_the_order_of_the_scales() -> None:
    assert Form.parse("tokens + depth").param_names == (
        "c_tokens", "alpha_tokens", "c_depth", "alpha_depth", "floor",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fixed": {"alpha_widht": 1.0}}, "alpha_widht"),
        ({"fixed": {"alpha_width": -0.1}}, "alpha_width cannot be fixed at -0.1"),
        ({"fixed": {"alpha_width": LARGEST_EXPONENT * 2}}, "cannot be fixed at 100"),
        ({"fixed": {"c_width": 0.0}}, "c_width cannot be fixed at 0"),
        ({"fixed": {"floor": -1.0}}, "floor cannot be fixed at -1"),
        ({"fixed": {"floor": np.inf}}, "floor cannot be fixed at inf"),
        ({"fixed": {"alpha_width": np.nan}}, "alpha_width cannot be fixed at nan"),
        ({"tied": (("alpha_width", "alpha_tokens"),)}, "alpha_tokens"),
        ({"tied": (("c_width", "c_depth"),)}, "only exponents can be tied, not c_width"),
        ({"tied": (("alpha_width", "floor"),)}, "only exponents can be tied, not floor"),
        ({"offsets": {"tokens": 1.0}}, "tokens"),
    ],
)
def test_settings_that_cannot_be_meant(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Form(("width", "depth"), **options)  # type: ignore[arg-type]


def test_no_term_and_a_term_twice_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one term"):
        Form(())
    with pytest.raises(UsageError, match="depth twice"):
        Form.parse("depth + width + depth")


@pytest.mark.parametrize(
    "options",
    [
        {"fixed": {"alpha_width": 1.0, "alpha_depth": 2.0}, "tied": (("alpha_width", "alpha_depth"),)},
        {"tied": (("alpha_width", "alpha_depth"), ("alpha_depth", "alpha_width"))},
        {"tied": (("alpha_width", "alpha_width"),)},
        {"floor": False, "fixed": {"alpha_width": 1.0}, "tied": (("alpha_width", "alpha_depth"),) * 2},
    ],
)
def test_constraints_that_contradict_or_repeat_are_usage_errors(options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="constrained twice"):
        bind(Form(("width", "depth"), **options), SCALES, LOSS)  # type: ignore[arg-type]


def test_constraints_hold_in_natural_units() -> None:
    form = Form.parse(
        "width + depth",
        fixed={"c_width": 300.0, "floor": 1.5},
        tied=(("alpha_depth", "alpha_width"),),
    )
    bound = bind(form, SCALES, LOSS)
    assert bound.problem.map.n_free == 2
    rng = np.random.default_rng(0)
    points = bound.to_point(bound.problem.map.expand(rng.normal(size=(20, 2))))
    np.testing.assert_allclose(points[:, 0], np.log(300.0), rtol=1e-12)
    np.testing.assert_allclose(points[:, 4], 1.5, rtol=1e-12)
    np.testing.assert_allclose(points[:, 1], points[:, 3], rtol=1e-12)


def test_points_and_internal_parameters_are_one_thing() -> None:
    bound = bind(Form.parse("width + (depth - 2)"), SCALES, LOSS)
    point = np.array([np.log(300.0), 0.9, np.log(5.0), 1.2, 1.7])
    internal = bound.to_internal(point)
    np.testing.assert_allclose(bound.to_point(internal), point, rtol=1e-12)
    wanted = 300 * SCALES["width"] ** -0.9 + 5 * (SCALES["depth"] - 2) ** -1.2 + 1.7
    centre = np.exp(np.log(LOSS).mean())
    np.testing.assert_allclose(bound.problem.predict(internal[None])[0] * centre, wanted, rtol=1e-12)
    row, shift = bound.functional("c_depth")
    assert row @ internal + shift == pytest.approx(np.log(5.0), rel=1e-12)


def test_internal_numbers_do_not_depend_on_units() -> None:
    one = bind(Form.parse("width + depth"), SCALES, LOSS)
    other = bind(Form.parse("width + depth"), {**SCALES, "width": SCALES["width"] * 1e9}, LOSS / np.log(2))
    np.testing.assert_allclose(other.log_scales[0], one.log_scales[0], atol=1e-13)
    np.testing.assert_allclose(other.problem.log_loss, one.problem.log_loss, atol=1e-15)
    np.testing.assert_allclose(other.problem.upper, one.problem.upper, rtol=1e-14)


def test_an_offset_beyond_the_smallest_scale_is_refused() -> None:
    with pytest.raises(UsageError, match="depth offset 4 is not below the smallest depth, 4") as error:
        bind(Form.parse("(depth - 4)"), SCALES, LOSS)
    assert "offset smaller than 4" in str(error.value)


def test_names_and_coordinates() -> None:
    assert [scale_of(n) for n in ("c_width", "alpha_tokens", "floor")] == ["width", "tokens", "floor"]
    assert to_coordinate("c_width", 300.0) == np.log(300.0)
    assert to_coordinate("alpha_width", 0.9) == 0.9
    assert to_value("c_width", np.log(300.0)) == pytest.approx(300.0)
    assert to_value("c_width", 1e4) == np.inf
    assert to_value("floor", 1.7) == 1.7


def test_the_fixed_side_of_a_tie_leads() -> None:
    """Fixing either side of a tie says the same."""
    one = Form(("width", "depth"), fixed={"alpha_width": 1.0}, tied=(("alpha_width", "alpha_depth"),))
    other = Form(("width", "depth"), fixed={"alpha_width": 1.0}, tied=(("alpha_depth", "alpha_width"),))
    assert one == other
