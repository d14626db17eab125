"""Fig. 2f on the real table and, where that is not to be had, on made runs that say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from depthlaw.reproduce import fig2f
from depthlaw.reproduce.outcome import Outcome
from depthlaw.reproduce.registry import select


@pytest.fixture(scope="module")
def made() -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DEPTHLAW_DATA", raising=False)
        patch.setenv("DEPTHLAW_CACHE", "/nonexistent")
        patch.setenv("HF_HUB_OFFLINE", "1")
        return select(["fig2f"])[0].run("small")


@pytest.fixture(scope="module")
def real(data_dir: Path) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEPTHLAW_DATA", str(data_dir))
        return fig2f.run("paper")


def test_made_runs_are_called_made_everywhere(made: Outcome) -> None:
    assert made.input == "60 made runs"  # the same for whatever reason, so that a folder can be continued
    assert made.statements[0].startswith(
        "These runs are MADE, because dataset chinchilla is not on this machine"
    )
    assert "'published' is that truth here, not the paper's numbers" in made.reference
    assert [c.quantity for c in made.comparisons] == ["alpha_width", "alpha_depth", "alpha_tokens", "floor"]
    assert made.comparisons[1].published == 1.1
    assert made.verdict == "pass"
    assert not any("published point" in statement for statement in made.statements)


def test_made_runs_have_a_figure_and_its_data(made: Outcome) -> None:
    assert set(made.figures["fig2f"].files) == {"fig2f.pdf", "fig2f.png", "fig2f.svg"}
    assert made.figures["fig2f"].data == ("fig2f_curve.parquet",)
    curve = made.tables["fig2f_curve.parquet"]
    assert set(curve.rows.column_names) == set(curve.units)
    assert curve.rows.num_rows == 200


@pytest.mark.data
def test_the_published_numbers_are_met(real: Outcome) -> None:
    assert real.input.startswith("203 of 245 runs")
    assert real.verdict == "pass"
    by_name = {c.quantity: c for c in real.comparisons}
    assert set(by_name) == {"alpha_width", "alpha_depth", "alpha_tokens", "floor", "mean_abs_rel_error"}
    depth = by_name["alpha_depth"]
    assert (depth.published, depth.published_error) == (1.201390266418457, 0.3)
    assert depth.ours == pytest.approx(1.32513, abs=5e-6)
    assert depth.difference == pytest.approx((1.32513 - 1.20139) / 0.3, abs=1e-4)
    assert by_name["alpha_tokens"].digits >= 4
    assert by_name["mean_abs_rel_error"].ours == pytest.approx(0.00396, abs=5e-6)


@pytest.mark.data
def test_the_published_point_is_held_against_the_table(real: Outcome) -> None:
    said = " ".join(real.statements)
    assert "3.0578e-05 against 3.02737e-05 at the optimum" in said
    assert "statistically admissible, but not the optimum" in said
    assert "depth exponent 1.33 [0.93, 1.74]: compatible with inverse depth scaling (1)" in said
    assert "MADE" not in said
    (early,) = real.corrections
    assert early.reference == pytest.approx(3.0578e-5, abs=5e-10)
    assert early.corrected == pytest.approx(3.02737e-5, abs=5e-11)
