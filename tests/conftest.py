"""Made tables of a known law, fits of the tables in ``data_dir`` (each made once), and where files lie."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.laws.fit import Fit, fit
from depthlaw.numerics.terms import Array

Columns = dict[str, Array]
TRUTH = {
    "c_width": 300.0,
    "alpha_width": 0.9,
    "c_depth": 5.0,
    "alpha_depth": 1.2,
    "c_tokens": 500.0,
    "alpha_tokens": 0.3,
    "floor": 1.7,
}
WIDTHS, DEPTHS, TOKENS = (256, 512, 1024, 2048), (4, 8, 16, 32), (1e9, 1e10, 1e11)


def law(columns: Columns, truth: dict[str, float]) -> Array:
    """Losses of a law, written without the package."""
    total = np.full(len(next(iter(columns.values()))), truth["floor"])
    for scale, x in columns.items():
        total = total + truth[f"c_{scale}"] * x ** -truth[f"alpha_{scale}"]
    return total


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real and made tables, named by $DEPTHLAW_DATA."""
    folder = os.environ.get("DEPTHLAW_DATA")
    if not folder:
        pytest.skip("set DEPTHLAW_DATA to the folder with runs/ and synthetic/")
    return Path(folder)


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Folder of real models, named by $DEPTHLAW_MODELS; to ask for it is to be skipped without."""
    folder = os.environ.get("DEPTHLAW_MODELS")
    if not folder:
        pytest.skip("set DEPTHLAW_MODELS to the folder with stories260K/")
    return Path(folder)


@pytest.fixture(scope="session")
def made_table() -> Callable[..., Columns]:
    """Build crossed runs that obey a law up to noise; keywords change the truth."""

    def build(
        widths: tuple[float, ...] = WIDTHS,
        depths: tuple[float, ...] = DEPTHS,
        tokens: tuple[float, ...] = TOKENS,
        *,
        noise: float = 0.004,
        seed: int = 0,
        **truth: float,
    ) -> Columns:
        crossed = np.meshgrid(np.float64(widths), np.float64(depths), np.float64(tokens))
        columns = dict(zip(("width", "depth", "tokens"), (x.ravel() for x in crossed), strict=True))
        loss = law(columns, TRUTH | truth)
        normal = np.random.default_rng(seed).standard_normal(len(loss))
        return columns | {"loss": loss * np.exp(noise * normal)}

    return build


@pytest.fixture(scope="session")
def made_fit(made_table: Callable[..., Columns]) -> Fit:
    """The fit of the plain made table: look at it, do not change it."""
    return fit(made_table())


@pytest.fixture(scope="session")
def tokens_fit() -> Fit:
    """A small fit of another form: loss against tokens."""
    tokens = np.geomspace(1e8, 1e11, 10)
    loss = law({"tokens": tokens}, TRUTH) * np.exp(0.001 * np.sin(np.arange(10)))
    return fit({"tokens": tokens, "loss": loss}, starts=64)


@pytest.fixture(scope="session")
def fitted(data_dir: Path) -> Callable[..., Fit]:
    """Fit a table below ``data_dir``: reading options as in ``read_runs``, settings as a dict."""
    known: dict[str, Fit] = {}

    def get(name: str, settings: dict[str, Any] | None = None, **reading: Any) -> Fit:
        key = repr((name, settings, sorted(reading.items())))
        if key not in known:
            known[key] = fit(read_runs(data_dir / name, **reading), **(settings or {}))
        return known[key]

    return get
