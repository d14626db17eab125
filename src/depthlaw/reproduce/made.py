"""A made table of runs with known truth, for machines where the real one is not to be had."""

from __future__ import annotations

import csv
import io

import numpy as np

from depthlaw.numerics.terms import Array

TRUTH = {
    "c_width": 300.0,
    "alpha_width": 0.9,
    "c_depth": 5.0,
    "alpha_depth": 1.1,
    "c_tokens": 500.0,
    "alpha_tokens": 0.3,
    "floor": 1.7,
}
NOISE = 0.004
"""Standard deviation of the log losses."""


def made_runs(seed: int = 2602) -> dict[str, Array]:
    """Width, depth, tokens and loss (60,) of runs that obey `TRUTH` up to noise.

    Shapes are crossed (four widths, five depths), each trained on three amounts of tokens.
    """
    rng = np.random.default_rng(seed)
    width, depth, tokens = (
        values.ravel().astype(float)
        for values in np.meshgrid([512, 1024, 2048, 4096], [6, 10, 16, 28, 48], [3e9, 2e10, 1.5e11])
    )
    loss = (
        TRUTH["c_width"] * width ** -TRUTH["alpha_width"]
        + TRUTH["c_depth"] * depth ** -TRUTH["alpha_depth"]
        + TRUTH["c_tokens"] * tokens ** -TRUTH["alpha_tokens"]
        + TRUTH["floor"]
    )
    return {
        "d_model": width,
        "n_layers": depth,
        "tokens": tokens,
        "loss": np.round(loss * np.exp(rng.normal(0.0, NOISE, loss.shape)), 5),
    }


def made_runs_csv() -> str:
    """The made table as CSV, the content of ``examples/made_runs.csv``."""
    columns = made_runs()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{value:.10g}" for value in row])
    return text.getvalue()
