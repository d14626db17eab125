from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.laws.fit import fit
from depthlaw.reproduce.made import NOISE, TRUTH, made_runs, made_runs_csv

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_example_table_is_what_its_script_writes() -> None:
    assert (EXAMPLES / "made_runs.csv").read_bytes() == made_runs_csv().encode()


def test_made_runs_obey_their_truth_up_to_noise() -> None:
    runs = made_runs()
    width, depth, tokens = (runs[name] for name in ("d_model", "n_layers", "tokens"))
    clean = TRUTH["floor"] + sum(
        TRUTH[f"c_{scale}"] * x ** -TRUTH[f"alpha_{scale}"]
        for scale, x in (("width", width), ("depth", depth), ("tokens", tokens))
    )
    residual = np.log(runs["loss"] / clean)
    assert len(residual) == 60
    assert np.std(residual) == pytest.approx(NOISE, rel=0.3)
    assert len(set(zip(width, depth, tokens, strict=True))) == 60
    assert np.array_equal(made_runs()["loss"], runs["loss"])
    assert not np.array_equal(made_runs(seed=1)["loss"], runs["loss"])


def test_a_fit_of_the_example_finds_its_truth() -> None:
    table = read_runs(EXAMPLES / "made_runs.csv")
    assert table.notices == ()
    law = fit(table)
    for name, truth in TRUTH.items():
        one = law[name]
        assert one.status == "ok"
        assert abs(one.value - truth) < 3 * one.stderr, name
