"""The laboratory in words: costs, exponents beside their intervals, reasons where there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from depthlaw.lab.config import LabConfig, Student, Teacher
from depthlaw.lab.experiment import train_lab
from depthlaw.lab.exponents import Exponent, Exponents, exponents
from depthlaw.lab.fingerprints import fingerprints
from depthlaw.report import lab
from depthlaw.report.lab import duration, exponents_text, lab_text, plan_lines

SMALL = LabConfig(
    width=4, hidden=8, steps=1, batch=2, log_every=1, test_every=0, test_batches=2, threads=1, engine="torch",
    teacher=Teacher(depth=2), student=Student(depths=(2,)),
)  # fmt: skip


def exponent(**more: Any) -> Exponent:
    row = Exponent(0.0, None, 10, "power", 2.1558, 2.1526, 2.1589, 2.0, 2.3, 0.0, 1, 6, "ok")
    return replace(row, **more)


def test_a_dry_run_counts_in_words_and_never_in_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "seconds_per_step", lambda config: (0.0004, "torch"))
    text = "\n".join(plan_lines(SMALL))
    assert "1 task (1 replicate, rho 0), each 1 student: depths 2, 1 temperature, 1 MLP a block" in text
    assert "in all 1 step a task" in text
    assert "memory: under 0.01 MB" in text
    assert "engine torch: 0.40 ms a step here, under 0.01 s in all" in text
    several = "\n".join(plan_lines(replace(SMALL, replicates=2, rho=(0.0, 1.0))))
    assert "4 tasks (2 replicates, rho 0 1)" in several


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0.40 s"), (12.3, "12 s"), (89, "89 s"), (120, "2 min"), (7200, "2.0 h")]
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_an_exponent_has_the_decimals_of_its_interval() -> None:
    assert "2.1558  [2.1526, 2.1589]" in exponents_text(Exponents((exponent(),)))
    assert "2.16  [2.05, 2.26]" in exponents_text(Exponents((exponent(low=2.05, high=2.26),)))
    assert "2.16  —" in exponents_text(Exponents((exponent(low=None, high=None),)))


def test_what_is_not_identified_has_its_reason_once() -> None:
    why = "only two values of depth (2, 4)"
    gone = exponent(alpha=None, low=None, high=None, status="not-identified", reason=why)
    text = exponents_text(Exponents((gone, replace(gone, rho=1.0), replace(gone, form="power+floor"))))
    assert text.endswith(f"\npower and power+floor not identified: {why}.\n")
    assert text.count(why) == 1


def test_two_depths_determine_no_exponent_and_the_text_says_why() -> None:
    config = replace(SMALL, student=Student(depths=(1, 2)))
    found = exponents(train_lab(config).test_batches, resamples=0)
    assert [row.status for row in found.rows] == ["not-identified"] * 2
    assert all("2 runs cannot determine" in row.reason for row in found.rows)
    assert found.to_table()["reason"].to_pylist() == [row.reason for row in found.rows]


def test_what_is_the_same_for_all_students_stands_once_and_lines_are_short() -> None:
    config = replace(
        SMALL, loss="kl", head="fixed", classes=4, temperatures=(0.1, 1.0), rho=(0.0, 1.0), replicates=2
    )
    result = train_lab(config)
    text = lab_text(
        result, exponents(result.test_batches, resamples=0), fingerprints(config, result.networks)
    )
    first, _, heading = text.splitlines()[:3]
    assert first == "step 1"
    assert heading.split()[:4] == ["replica", "rho", "temperature", "depth"]
    assert max(map(len, text.splitlines())) <= 100
