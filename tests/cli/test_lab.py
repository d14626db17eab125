"""``depthlaw lab``: what it says before it works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from depthlaw.cli import main
from depthlaw.lab import plan

SHORT = shlex.split(
    "lab --steps 4 --batch 8 --test-every 0 --log-every 2 --width 4 --hidden 8 --threads 1 --test-batches 2 "
    "--engine torch --teacher.depth 2 --student.depths 1 2 3"
)
Printed = pytest.CaptureFixture[str]


@pytest.mark.parametrize(("step", "place", "noted"), [(100, [], True), (1, [], False), (100, ["out"], False)])
def test_long_work_without_a_folder_says_that_nothing_is_kept(
    step: int, place: list[str], noted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setattr("depthlaw.cli.lab._WORTH_TIMING", 0.0)
    monkeypatch.setattr(plan, "seconds_per_step", lambda config: (float(step), "torch"))
    words = ["--out", str(tmp_path / "out")] if place else []
    assert main([*SHORT, *words]) == 0
    said = (
        "note: this takes about 7 min here, and nothing is kept if it is interrupted: --out DIR keeps it.\n"
    )
    assert (said in capsys.readouterr().err) == noted
