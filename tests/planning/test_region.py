from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize

from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.form import BoundForm, bind
from depthlaw.planning.predict import log_loss
from depthlaw.planning.region import delta_range, profile_range, region_of


def test_the_profile_of_a_parameter_is_that_of_the_fit(made_fit: Fit) -> None:
    region = region_of(made_fit)
    for index, name in enumerate(made_fit.form.param_names):
        low, high = profile_range(region, lambda p, k=index: p[:, k])
        ends = np.exp([low, high]) if name.startswith("c_") else [low, high]
        assert made_fit[name].interval == pytest.approx(ends, rel=1e-4)


def test_the_profile_of_a_prediction_is_that_of_laws_pulled_there(made_fit: Fit) -> None:
    """Refits with a further run of growing weight trace the profile of its prediction exactly."""
    point = {"width": np.array([8192.0]), "depth": np.array([64.0]), "tokens": np.array([1e12])}
    region, quantity = region_of(made_fit), log_loss(made_fit, point)
    ends = profile_range(region, quantity)
    columns = {s: np.append(made_fit.data[s], point[s]) for s in made_fit.form.scales}
    for end, pull in zip(ends, (0.7, 1.4), strict=True):
        target = pull * np.exp(quantity(made_fit.point[None])[0])
        bound = bind(made_fit.form, columns, np.append(made_fit.data["loss"], target))

        def found(log_weight: float, bound: BoundForm = bound) -> tuple[float, float]:
            weights = np.append(np.ones(48), np.exp(log_weight))[None]
            solved = bound.problem.solve(bound.to_internal(made_fit.point)[None], weights=weights)
            law = bound.to_point(solved.params)
            cost = region.bound.problem.cost(region.bound.to_internal(law[0])[None])[0]
            return float((cost - region.cost) / region.unit - region.threshold**2), float(quantity(law)[0])

        weight = optimize.brentq(lambda w: found(w)[0], -12.0, 5.0, xtol=1e-8)
        assert found(weight)[1] == pytest.approx(end, abs=1e-6)


def test_first_order_and_profile_agree_where_the_law_is_nearly_linear(made_fit: Fit) -> None:
    at = {s: np.array([np.exp(np.log(made_fit.data[s]).mean())]) for s in made_fit.form.scales}
    region, quantity = region_of(made_fit), log_loss(made_fit, at)
    assert profile_range(region, quantity) == pytest.approx(delta_range(region, quantity), rel=2e-3)


def test_an_open_end_is_infinite(made_table: Callable[..., dict[str, np.ndarray]]) -> None:
    """With a depth term hidden by noise its exponent has no upper end."""
    law = fit(made_table(depths=(8.0, 9.0, 10.0), noise=0.02, seed=3), starts=64)
    low, high = profile_range(region_of(law), lambda p: p[:, 3])
    assert high > 10 or np.isinf(high)
    assert low < 1.2


def test_exact_tables_have_no_width_to_speak_of(made_table: Callable[..., dict[str, np.ndarray]]) -> None:
    low, high = profile_range(region_of(fit(made_table(noise=0.0), starts=64)), lambda p: p[:, 3])
    assert low == pytest.approx(1.2, abs=1e-9)
    assert high == pytest.approx(1.2, abs=1e-9)
