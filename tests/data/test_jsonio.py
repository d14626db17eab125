from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthlaw.data.jsonio import canonical_json, json_text
from depthlaw.errors import ExitCode


class Status(Enum):
    OK = "ok"


@dataclass(frozen=True)
class Estimate:
    value: float
    interval: tuple[float, float] | None
    status: Status = Status.OK


def test_a_result_is_strict_json() -> None:
    result = {
        "alpha": Estimate(1.33, (1.0, math.inf)),
        "floor": Estimate(math.nan, None),
        "path": Path("a/b"),
        "array": np.array([[1.0, np.nan], [2.0, 3.0]]),
        "single": np.float32(0.5),
        "count": np.int64(3),
        "flag": np.bool_(True),
        "code": ExitCode.USAGE,
    }
    assert json.loads(json_text(result)) == {
        "alpha": {"value": 1.33, "interval": [1.0, None], "status": "ok"},
        "floor": {"value": None, "interval": None, "status": "ok"},
        "path": "a/b",
        "array": [[1.0, None], [2.0, 3.0]],
        "single": 0.5,
        "count": 3,
        "flag": True,
        "code": 2,
    }


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_comes_back_to_the_last_bit(value: float) -> None:
    assert math.copysign(1, json.loads(json_text(value))) == math.copysign(1, value)
    assert json.loads(json_text(np.float64(value))) == value


def test_any_terminal_can_show_it() -> None:
    text = json_text({"α": "…"})
    assert text.isascii()
    assert json.loads(text) == {"α": "…"}


@pytest.mark.parametrize("value", [{1, 2}, 1j, object(), b"bytes"])
def test_what_has_no_json_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        json_text({"x": value})


def test_keys_that_are_not_text_are_refused() -> None:
    with pytest.raises(TypeError, match="keys are text"):
        json_text({1: 2})


def test_the_canonical_form_is_sorted_and_keeps_nan_apart() -> None:
    assert canonical_json({"b": math.nan, "a": None}) == '{"a":null,"b":"nan"}'
