from __future__ import annotations

import numpy as np
import pytest

from depthlaw.laws.fit import Fit, fit
from depthlaw.reproduce.made import made_runs


@pytest.fixture(scope="session")
def made_fit() -> Fit:
    """A fit in which everything is identified."""
    return fit(made_runs(), starts=64)


@pytest.fixture(scope="session")
def unknown_fit() -> Fit:
    """A fit of two depths, with a term of depth whose exponent can be anything."""
    columns = made_runs()
    keep = np.isin(columns["n_layers"], [6, 48])
    return fit({name: values[keep] for name, values in columns.items()}, starts=64)


@pytest.fixture(scope="session")
def step_fit() -> Fit:
    """A fit whose depth term is a step at the smallest depth, to the point of underflow."""
    depth = np.array([2.0, 16, 32, 64, 128] * 3)
    noise = 0.005 * np.random.default_rng(0).standard_normal(15)
    return fit({"depth": depth, "loss": (1.0 + 5.0 * depth**-4.0) * np.exp(noise)}, form="depth", starts=64)
