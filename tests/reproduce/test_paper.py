"""The published numbers are well formed, and are what the paper's authors published."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest

from depthlaw.reproduce.paper import published, published_points
from depthlaw.reproduce.registry import EXPERIMENTS


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return tomllib.loads(files("depthlaw.reproduce").joinpath("paper.toml").read_text(encoding="utf-8"))


def test_every_number_has_a_place_and_a_tolerance(document: dict[str, Any]) -> None:
    for experiment in document.keys() - {"points"}:
        for quantity, entry in document[experiment].items():
            where = f"{experiment}.{quantity}"
            assert entry.keys() <= {"value", "error", "place", "tolerance"}, where
            assert isinstance(entry["value"], int | float), where
            assert entry["place"].strip(), where
            assert 0 < entry["tolerance"] < 10, where
            assert entry.get("error", 1.0) > 0, where
        assert published(experiment).keys() == document[experiment].keys()


def test_numbers_belong_to_experiments(document: dict[str, Any]) -> None:
    assert document.keys() - {"points"} <= {e.id for e in EXPERIMENTS}


@pytest.mark.parametrize(
    ("quantity", "value", "error"),
    [
        ("alpha_width", 0.98, 0.08),
        ("alpha_depth", 1.2, 0.3),
        ("alpha_tokens", 0.30, 0.01),
        ("mean_abs_rel_error", 0.004, None),
    ],
)
def test_fig2f_as_printed(quantity: str, value: float, error: float | None) -> None:
    found = published("fig2f")[quantity]
    assert found.value == pytest.approx(value, abs=0.005 if value < 1.2 else 0.05)
    assert found.error == error


def test_points_are_in_natural_units() -> None:
    paper = published_points()["paper"]
    assert paper["c_width"] == 333.3808501910344
    assert paper["c_depth"] == pytest.approx(5.0805, abs=5e-5)
    assert paper["c_tokens"] == pytest.approx(528.83, abs=5e-3)
    assert "depth_offset" not in paper
    shifted = published_points()["paper-offset-2"]
    assert shifted["depth_offset"] == 2.0
    assert shifted["alpha_depth"] == 1.066088
    assert shifted["c_depth"] == pytest.approx(413.697 * 100**-1.066088, rel=1e-12)
    for point in (paper, shifted):
        assert point.keys() - {"depth_offset"} == {
            "c_width", "alpha_width", "c_depth", "alpha_depth", "c_tokens", "alpha_tokens", "floor",
        }  # fmt: skip


def test_a_point_is_the_law_it_stands_for() -> None:
    """The published constants count depth in hundreds of blocks and tokens in millions."""
    paper, depth, tokens = published_points()["paper"], 24.0, 3e11
    natural = paper["c_depth"] * depth ** -paper["alpha_depth"]
    assert natural == pytest.approx(1284.3676595484178 * (100 * depth) ** -1.201390266418457, rel=1e-12)
    natural = paper["c_tokens"] * tokens ** -paper["alpha_tokens"]
    assert natural == pytest.approx(8.48674282280199 * (tokens / 1e6) ** -0.29909613728523254, rel=1e-12)
