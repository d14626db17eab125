from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthlaw.report.text import interval, markdown, number, table


@pytest.mark.parametrize(
    ("value", "stderr", "text"),
    [
        (1.32513, 0.17, "1.33"),
        (0.94548, 0.036, "0.945"),
        (275.123, 57.0, "275"),
        (1.75363, 0.0123, "1.754"),
        (12345.6, 570.0, "12350"),
        (9.9962, 0.05, "9.996"),
        (9.9962, 0.5, "10.0"),
        (0.3, 57.0, "0.3"),
        (-0.0312, 0.0011, "-0.0312"),
        (3.02737e-9, 1.2e-11, "3.027e-9"),
        (6.02214e23, 1.1e21, "6.022e23"),
        (1.75363, 1e-12, "1.75363"),
        (1.32513, None, "1.325"),
        (1.32513, math.inf, "1.325"),
        (1.32513, 0.0, "1.325"),
        (3.02737e-5, None, "0.00003027"),
        (3.02737e-6, None, "3.027e-6"),
        (999999.9, None, "1.000e6"),
        (123456.7, None, "123500"),
        (203, None, "203"),
        (12345678901, None, "12345678901"),
        (0.0, 0.1, "0"),
        (math.inf, None, "inf"),
        (-math.inf, 1.0, "-inf"),
        (math.nan, 1.0, "—"),
        (None, None, "—"),
    ],
)
def test_a_number_has_the_digits_its_error_allows(
    value: float | None, stderr: float | None, text: str
) -> None:
    assert number(value, stderr) == text


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=1e-250, max_value=1e300), st.floats(1e-6, 0.9)
)
def test_a_written_number_is_within_its_error(value: float, relative: float) -> None:
    assert abs(float(number(value, value * relative)) - value) <= max(value * relative / 10, value * 1e-5)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.9912, 1.6789, "[0.99, 1.68]"),
        (0.874, 1.017, "[0.874, 1.017]"),
        (0.94, 1.14, "[0.94, 1.14]"),
        (-0.5, 0.0, "[-0.50, 0.00]"),
        (-0.001, 1.4, "[0.00, 1.40]"),
        (2e9, 3.7e9, "[2.00e9, 3.70e9]"),
        (150.0, 410.0, "[150, 410]"),
        (1.0, math.inf, "[1.000, inf]"),
        (2.0, 2.0, "[2.000, 2.000]"),
        (None, 1.0, "—"),
        (math.nan, 1.0, "—"),
    ],
)
def test_an_interval_has_the_digits_its_width_allows(
    low: float | None, high: float | None, text: str
) -> None:
    assert interval(low, high) == text


def test_columns_are_aligned_and_numbers_flush_right() -> None:
    rows = [["alpha_width", "0.945", "ok"], ["c", "275", "not-identified"], ["α_ℓ", "—", "ok"]]
    assert table(rows, ["parameter", "value", "status"]) == (
        "parameter    value  status\n"
        "-----------  -----  --------------\n"
        "alpha_width  0.945  ok\n"
        "c              275  not-identified\n"
        "α_ℓ              —  ok\n"
    )


def test_a_table_is_as_wide_as_it_is() -> None:
    assert table([["x" * 300, "y" * 300]]) == f"{'x' * 300}  {'y' * 300}\n"


def test_wide_signs_take_two_columns() -> None:
    assert table([["深", "a"], ["xy", "b"]]) == "深  a\nxy  b\n"


def test_empty_tables() -> None:
    assert table([]) == ""
    assert table([], ["a", "bc"]) == "a  bc\n-  --\n"
    with pytest.raises(ValueError, match="argument"):
        table([["a"], ["b", "c"]])


def test_markdown_has_the_same_cells() -> None:
    assert markdown([["a|b", "1.5"], ["c", "20"]], ["name", "value"]) == (
        "| name | value |\n| ---- | ----: |\n| a\\|b |   1.5 |\n| c    |    20 |\n"
    )
