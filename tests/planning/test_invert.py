from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.errors import FitError, UsageError
from depthlaw.laws.fit import Fit, fit
from depthlaw.planning.answers import Answer
from depthlaw.planning.counting import NOMINAL
from depthlaw.planning.invert import reach
from depthlaw.planning.predict import predict_at

AT = {"width": 1024.0, "depth": 16.0, "tokens": 1e10}


@given(st.sampled_from(["width", "depth", "tokens"]), st.floats(0.3, 3.0))
@settings(max_examples=8, deadline=None)
def test_inverting_a_prediction_gives_the_scale_back(made_fit: Fit, scale: str, factor: float) -> None:
    at = {**AT, scale: AT[scale] * factor}
    loss = float(predict_at(made_fit, **at).loss[0])  # type: ignore[arg-type]
    (answer,) = reach(made_fit, loss, **{s: x for s, x in at.items() if s != scale})
    assert answer.answer is Answer.REACHED
    assert answer.value == pytest.approx(at[scale], rel=1e-9)
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low < at[scale] < answer.high


def test_the_ends_are_where_the_predictions_interval_meets_the_loss(made_fit: Fit) -> None:
    (answer,) = reach(made_fit, 2.9, width=1024, tokens=1e10)
    ends = predict_at(made_fit, width=1024, depth=[answer.low, answer.high], tokens=1e10)
    assert ends.low[0] == pytest.approx(2.9, rel=1e-5)
    assert ends.high[1] == pytest.approx(2.9, rel=1e-5)


def test_all_scales_given_asks_each_in_turn(made_fit: Fit) -> None:
    assert [a.what for a in reach(made_fit, 2.6, **AT)] == ["width", "depth", "tokens"]


@pytest.mark.parametrize("given_", [{}, {"tokens": 1e11}, {"width": 1024.0, "depth": 16.0}])
def test_below_the_floor_is_unreachable(made_fit: Fit, given_: dict[str, float]) -> None:
    for answer in reach(made_fit, 1.5, resamples=100, **given_):
        assert answer.answer is Answer.UNREACHABLE
        assert (answer.value, answer.low, answer.high) == (None, None, None)
        assert answer.limit >= made_fit.point[-1]
        assert "without end" in answer.reason


def test_a_loss_near_the_floor_may_or_may_not_be_reached(made_fit: Fit) -> None:
    floor = float(made_fit.point[-1])
    (above,) = reach(made_fit, floor + 0.001, resamples=200)
    assert above.answer is Answer.REACHED
    assert above.high == np.inf
    (below,) = reach(made_fit, floor - 0.001, resamples=200)
    assert "do not exclude" in below.reason


def test_fewest_parameters_and_least_compute(made_fit: Fit) -> None:
    (size,) = reach(made_fit, 2.4, tokens=1e11, resamples=100)
    assert size.what == "params"
    assert size.value == pytest.approx(
        NOMINAL(np.array(size.at["width"]), np.array(size.at["depth"])), rel=1e-6
    )
    assert predict_at(made_fit, **size.at).loss[0] == pytest.approx(2.4, rel=1e-9)  # type: ignore[arg-type]
    (compute,) = reach(made_fit, 2.4, resamples=100)
    assert compute.what == "flops"
    assert predict_at(made_fit, **compute.at).loss[0] == pytest.approx(2.4, rel=1e-9)  # type: ignore[arg-type]
    assert compute.value is not None
    assert compute.value < 6 * 1e11 * (size.value or 0.0)


def test_questions_without_one_answer(
    made_fit: Fit, made_table: Callable[..., dict[str, np.ndarray]]
) -> None:
    with pytest.raises(UsageError, match="infinitely many combinations"):
        reach(made_fit, 2.4, width=1024)
    with pytest.raises(UsageError, match="losses are positive"):
        reach(made_fit, -1.0)
    crossed = made_table()
    line = crossed["width"] == 64 * crossed["depth"]
    one_dial = fit({name: column[line] for name, column in crossed.items()}, starts=64)
    with pytest.raises(FitError, match="best shape is not identified"):
        reach(one_dial, 2.4)
    (answer,) = reach(one_dial, 2.6, width=1024, tokens=1e10, resamples=100)
    assert answer.answer is Answer.NOT_DETERMINED
