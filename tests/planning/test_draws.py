from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from depthlaw.laws.fit import Fit, fit
from depthlaw.planning.draws import OPEN_EXPONENTS, has_profile, parameter_draws, settled
from depthlaw.planning.region import region_of

Columns = dict[str, np.ndarray]


def test_draws_scatter_as_the_standard_errors_say(made_fit: Fit) -> None:
    draws = parameter_draws(made_fit, 300, seed=1)
    assert draws.how == "300 bootstrap refits over 48 runs"
    spread = draws.points.std(0) / np.sqrt(np.diagonal(made_fit.covariance))
    assert (spread > 0.6).all()
    assert (spread < 1.6).all()
    assert (parameter_draws(made_fit, 300, seed=1).points == draws.points).all()


def test_intervals_of_draws_are_nested_and_keep_infinities(made_fit: Fit) -> None:
    draws = parameter_draws(made_fit, 100)
    values = draws.points[:, 3]
    wide, narrow = draws.interval(values, 0.99), draws.interval(values, 0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert draws.interval(np.append(values, [np.inf] * 20), 0.95)[1] == np.inf
    assert np.isnan(draws.interval(np.full(3, np.nan), 0.95)).all()


def test_what_the_data_leave_open_varies_in_draws(made_table: Callable[..., Columns]) -> None:
    crossed = made_table()
    line = crossed["width"] == 64 * crossed["depth"]
    law = fit({name: column[line] for name, column in crossed.items()}, starts=64)
    assert not settled(law)
    assert not has_profile(law)
    draws = parameter_draws(law, 100)
    alpha = draws.points[:, 3]
    assert OPEN_EXPONENTS[0] <= alpha.min() < 0.5 * alpha.max() <= 0.5 * OPEN_EXPONENTS[1]
    # every draw still fits its runs: the original ones no worse than a few chances
    region = region_of(law)
    costs = [region.bound.problem.cost(region.bound.to_internal(p)[None])[0] for p in draws.points]
    assert np.median(costs) == pytest.approx(region.cost, rel=3.0)


def test_robust_and_clustered_fits_have_no_profile(made_table: Callable[..., Columns]) -> None:
    columns = made_table()
    assert not has_profile(fit(columns, objective="huber", starts=64, resamples=100))
    runs = [f"{w}-{d}" for w, d in zip(columns["width"], columns["depth"], strict=True)]
    law = fit({**columns, "run": runs}, starts=64, resamples=100)
    assert not has_profile(law)
    assert parameter_draws(law, 60).groups == 16
