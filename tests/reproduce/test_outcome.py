from __future__ import annotations

import pytest

from depthlaw.report.outcomes import outcome_text, outcomes_payload
from depthlaw.reproduce.outcome import Comparison, Outcome, OutcomeFigure, Verdict, compare, matching_digits
from depthlaw.reproduce.paper import Published


@pytest.mark.parametrize(
    ("a", "b", "digits"),
    [
        (1.0, 1.0, 16),
        (0.0, 0.0, 16),
        (1.23456, 1.23457, 5),
        (100.0, 110.0, 1),
        (1.0, 2.0, 0),
        (1.0, -1.0, 0),
        (1.0, 1.0 + 2**-52, 15),
        (0.29909, 0.29909613728523254, 4),
    ],
)
def test_matching_digits(a: float, b: float, digits: int) -> None:
    assert matching_digits(a, b) == matching_digits(b, a) == digits


@pytest.mark.parametrize(
    ("theirs", "ours", "error", "difference", "verdict"),
    [
        (Published(1.2, "p", 1.0, error=0.3), 1.47, 0.2, 0.9, "pass"),
        (Published(1.2, "p", 1.0, error=0.3), 1.6, 0.2, 4 / 3, "differs"),
        (Published(1.2, "p", 1.0, error=0.3), 0.8, None, -4 / 3, "differs"),
        (Published(1.2, "p", 1.0), 1.5, 0.2, 1.5, "differs"),  # in errors of ours
        (Published(0.004, "p", 0.05), 0.0041, None, 0.025, "pass"),  # relative
        (Published(0.004, "p", 0.05), 0.0035, None, -0.125, "differs"),
        (Published(-2.0, "p", 0.1), -2.1, None, -0.05, "pass"),
    ],
)
def test_a_difference_is_counted_in_the_best_unit_there_is(
    theirs: Published, ours: float, error: float | None, difference: float, verdict: str
) -> None:
    found = compare("x", theirs, ours, error)
    assert found.difference == pytest.approx(difference)
    assert found.verdict == verdict
    assert (found.published, found.published_error, found.ours) == (theirs.value, theirs.error, ours)


def test_what_is_not_identified_is_not_compared() -> None:
    found = compare("x", Published(1.2, "p", 1.0, error=0.3), None)
    assert (found.ours, found.difference, found.digits, found.verdict) == (None, None, None, "not comparable")


def test_what_is_of_something_else_is_shown_and_not_judged() -> None:
    found = compare("x", Published(1.2, "p", 1.0), 1.2, 0.1, note="another model", comparable=False)
    assert (found.ours, found.error, found.note) == (1.2, 0.1, "another model")
    assert (found.difference, found.digits, found.verdict) == (None, None, "not comparable")


def row(verdict: Verdict) -> Comparison:
    return Comparison("x", 1.0, None, 1.0, None, 0.0, 16, verdict)


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "differs", "pass"], "differs"),
        (["not comparable", "pass"], "pass"),
        (["not comparable"], "not comparable"),
        ([], "not comparable"),
    ],
)
def test_an_experiment_is_as_good_as_its_worst_number(verdicts: list[str], whole: str) -> None:
    rows = tuple(row(Verdict(v)) for v in verdicts)
    assert Outcome("a", "t", "i", comparisons=rows).verdict == whole
    assert Outcome("a", "t", "i", comparisons=rows, skipped="no data").verdict == "skipped"


def test_an_outcome_as_text() -> None:
    outcome = Outcome(
        "fig0",
        "A title",
        "3 runs",
        comparisons=(
            compare("alpha", Published(1.2, "p", 1.0, error=0.3), 1.32513, 0.287),
            compare("error", Published(0.004, "p", 0.05), 0.00396),
            compare("gone", Published(0.004, "p", 0.05), None),
        ),
        statements=("One sentence.",),
        notices=("Mind this.",),
    )
    lines = outcome_text(outcome).splitlines()
    assert lines[:2] == ["fig0: A title", "  on 3 runs"]
    assert lines[3].split() == ["published", "ours", "difference", "digits", "verdict"]
    assert lines[5].split("  ")[0] == "alpha"
    assert "1.20 ± 0.30" in lines[5]
    assert "1.33 ± 0.29" in lines[5]
    assert "+0.42 s.e." in lines[5]
    assert lines[5].rstrip().endswith("pass")
    assert "-1 %" in lines[6]
    assert lines[7].split()[0] == "gone"
    assert "not comparable" in lines[7]
    assert lines[-3:] == ["One sentence.", "", "note: Mind this."]


def test_a_skipped_outcome_says_why() -> None:
    text = outcome_text(Outcome("fig0", "A title", "", skipped="no data"))
    assert text == "fig0: A title\n  skipped: no data\n"


def test_outcomes_for_programs_hold_no_bytes() -> None:
    figure = OutcomeFigure({"b.pdf": b"x"}, "What is seen.", ("b.parquet",))
    payload = outcomes_payload([Outcome("fig0", "t", "i", figures={"b": figure})])
    assert payload["schema"] == 3
    (one,) = payload["experiments"]
    assert one["figures"] == [
        {"name": "b", "caption": "What is seen.", "data": ["b.parquet"], "files": ["b.pdf"]}
    ]
    assert one["verdict"] == "not comparable"
