"""Settings given by keyword in Python are checked as strictly as a file's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from depthlaw.errors import UsageError
from depthlaw.laws.compare import CompareConfig, compare
from depthlaw.laws.config import FitConfig
from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.sensitivity import sensitivity
from depthlaw.planning.design import design
from depthlaw.planning.plan import plan

RUNS = {"tokens": np.geomspace(1e8, 1e11, 12), "loss": 1.7 + 100 * np.geomspace(1e8, 1e11, 12) ** -0.3}


@pytest.mark.parametrize("verb", [fit, compare, sensitivity])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"floor": "no"}, 'floor: expected true or false, got "no"'),
        ({"fix": None}, "fix: expected a dict, got None"),
        ({"fix": ["alpha_depth"]}, "fix: expected a dict"),
        ({"level": "0.9"}, 'level: expected a number, got "0.9"'),
        ({"form": ["width"]}, "form: expected text in quotes"),
        ({"tie": 3}, "tie: expected a list"),
        ({"starts": 64.5}, "starts: expected a whole number, got 64.5"),
        ({"seed": None}, "seed: expected a whole number, got None"),
        ({"objective": "hubert"}, 'objective: expected one of "mse", "huber"'),
        ({"levl": 0.9}, "levl: unknown key; did you mean level?"),
    ],
)
def test_settings_of_another_type(verb: Callable[..., Any], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        verb(RUNS, **settings)
    assert said in str(error.value)


def test_a_config_of_another_kind() -> None:
    with pytest.raises(UsageError, match="FitConfig is expected as config, not str"):
        fit(RUNS, "tokens")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="CompareConfig is expected as config, not FitConfig"):
        compare(RUNS, FitConfig())  # type: ignore[arg-type]
    assert isinstance(CompareConfig(), FitConfig)


def test_settings_of_a_plan_and_a_design(tokens_fit: Fit) -> None:
    for verb in (plan, design):
        with pytest.raises(UsageError, match="unknown key"):
            verb(tokens_fit, sede=3)
        with pytest.raises(UsageError, match="seed: expected a whole number, got true"):
            verb(tokens_fit, seed=True)


def test_numpy_numbers_are_numbers() -> None:
    law = fit(RUNS, fix={"floor": np.float64(1.7)}, starts=np.int64(64), floor=np.bool_(True))
    assert law["floor"].value == 1.7
