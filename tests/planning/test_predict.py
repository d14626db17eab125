from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.errors import UsageError
from depthlaw.laws.fit import Fit, fit
from depthlaw.planning.invert import reach
from depthlaw.planning.predict import predict_at

Columns = dict[str, np.ndarray]
TRUE = {"width": 300.0, "depth": 5.0, "tokens": 500.0}


def test_prediction_splits_and_brackets(made_fit: Fit) -> None:
    p = predict_at(made_fit, width=[1024, 2048], depth=[16, 8], tokens=1e10)
    assert len(p) == 2
    np.testing.assert_allclose(sum(p.terms.values()), p.loss)
    assert list(p.terms) == ["width", "depth", "tokens", "floor"]
    assert (p.run_low < p.low).all()
    assert (p.low < p.loss).all()
    assert (p.loss < p.high).all()
    assert (p.high < p.run_high).all()
    truth = 1.7 + 300 * 1024**-0.9 + 5 * 16**-1.2 + 500 * 1e10**-0.3
    assert p.low[0] < truth < p.high[0]
    assert p.how == "profile likelihood"
    assert not p.notices
    assert p.to_table().num_rows == 2
    assert "profile" in p._repr_html_()


@given(st.floats(100, 2e4), st.floats(2, 200), st.floats(1e8, 1e13))
@settings(max_examples=15, deadline=None)
def test_more_of_a_scale_never_predicts_a_higher_loss(made_fit: Fit, m: float, l: float, d: float) -> None:  # noqa: E741
    p = predict_at(made_fit, width=[m, 1.1 * m, m, m], depth=[l, l, 1.1 * l, l], tokens=[d, d, d, 1.1 * d])
    assert (p.loss[1:] < p.loss[0]).all()
    assert (p.low <= p.loss).all()


def test_intervals_widen_with_the_distance_from_the_data(made_fit: Fit) -> None:
    p = predict_at(made_fit, width=[1024, 8192, 65536], depth=[16, 64, 256], tokens=[1e10, 1e12, 1e14])
    assert (np.diff(np.log(p.high / p.low)) > 0).all()
    assert (np.diff(p.distance.hull) > 0).all()
    assert [n.code for n in p.notices] == ["far-outside-data"]


def test_intervals_are_nested_by_level(made_fit: Fit) -> None:
    at = {"width": 4096, "depth": 32, "tokens": 1e12}
    wide, narrow = predict_at(made_fit, level=0.99, **at), predict_at(made_fit, level=0.8, **at)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_clusters_make_intervals_by_bootstrap(made_table: Callable[..., Columns]) -> None:
    columns = made_table()
    shape = np.unique(np.stack([columns["width"], columns["depth"]]), axis=1, return_inverse=True)[1]
    noisy = columns["loss"] * np.exp(0.02 * np.random.default_rng(1).standard_normal(16)[shape])
    law = fit({**columns, "loss": noisy, "run": [f"r{k}" for k in shape]}, starts=64)
    p = predict_at(law, width=1024, depth=16, tokens=1e10)
    assert p.how == "quantiles of 400 bootstrap refits over 16 clusters"


def test_one_dial_predicts_along_its_line_and_not_across(made_table: Callable[..., Columns]) -> None:
    crossed = made_table()
    line = crossed["width"] == 64 * crossed["depth"]
    law = fit({name: column[line] for name, column in crossed.items()}, starts=64)
    p = predict_at(law, width=[1024, 1024], depth=[16, 40], tokens=1e10, resamples=100)
    assert p.determined.tolist() == [True, False]
    assert np.isnan([p.loss[1], p.low[1], p.high[1]]).all()
    truth = 1.7 + 300 * 1024**-0.9 + 5 * 16**-1.2 + 500 * 1e10**-0.3
    assert p.low[0] < truth < p.high[0]
    assert p.high[0] / p.low[0] < 1.02
    assert list(p.terms) == ["width+depth", "tokens", "floor"]


@pytest.mark.parametrize("seed", range(4))
def test_where_an_exponent_is_open_the_point_is_of_the_laws_that_make_the_interval(
    made_table: Callable[..., Columns], seed: int
) -> None:
    # Noise drives the optimum to exponents far beyond those of the laws that fit as well.
    law = fit(made_table(depths=(24.0, 32.0, 48.0), noise=0.1, seed=seed), starts=64)
    assert not law.identified
    p = predict_at(law, width=1024, depth=[6, 24], tokens=1e10, resamples=100)
    assert ((p.low < p.loss) & (p.loss < p.high)).all()
    np.testing.assert_allclose(sum(p.terms.values()), p.loss)
    (asked,) = reach(law, float(p.loss[1]), width=1024, tokens=1e10, resamples=100)
    assert asked.value is not None
    assert asked.low is not None
    assert asked.high is not None
    assert asked.low < asked.value < asked.high


@pytest.mark.parametrize(
    ("scales", "said"),
    [
        ({"width": 1024, "depth": 16}, r"needs a value of tokens.\nGive tokens"),
        ({"width": 0, "depth": 16, "tokens": 1e9}, "width must be positive"),
        ({"width": [1, 2, 3], "depth": [1, 2], "tokens": 1e9}, "3 of width, 2 of depth"),
    ],
)
def test_points_that_cannot_be_meant(made_fit: Fit, scales: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        predict_at(made_fit, **scales)  # type: ignore[arg-type]
