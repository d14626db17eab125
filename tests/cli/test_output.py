from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from depthlaw.cli.app import build_app, run
from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.data import config as configs
from depthlaw.data.store import Run

Printed = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Settings:
    seed: int = 0
    floor: float | None = None


def parsed(*flags: str) -> Output:
    seen: list[Output] = []
    app = build_app()

    @app.command(name="try")
    def attempt(*, output: Output = TO_TERMINAL) -> None:
        """Try."""
        seen.append(output)

    assert run(app, ["try", *flags]) == 0
    return seen[0]


def test_the_flags_every_verb_has() -> None:
    assert parsed() == Output(json=False, out=None, dry_run=False, resume=True)
    assert parsed("--json", "--out", "a b", "--dry-run", "--no-resume") == Output(
        json=True, out=Path("a b"), dry_run=True, resume=False
    )
    assert parsed("--resume").resume


def test_json_is_one_strict_object_with_its_schema_first(capsys: Printed) -> None:
    Output(json=True).emit({"value": float("nan"), "bound": float("inf")}, "text", schema=3)
    out = capsys.readouterr().out
    assert json.loads(out, parse_constant=pytest.fail) == {"schema": 3, "value": None, "bound": None}
    assert out.lstrip("{ \n").startswith('"schema"')


def test_text_is_written_as_it_is_however_wide(capsys: Printed) -> None:
    TO_TERMINAL.emit({}, "x" * 500)
    TO_TERMINAL.emit({}, "y\n")
    assert capsys.readouterr() == ("x" * 500 + "\ny\n", "")


def test_notes_go_to_stderr(capsys: Printed) -> None:
    note("wait")
    assert capsys.readouterr() == ("", "wait\n")


def test_a_dry_run_prints_a_file_that_config_takes(capsys: Printed) -> None:
    Output(dry_run=True).emit_plan(Settings(seed=3), ["read runs.csv", "fit 203 rows"])
    out = capsys.readouterr().out
    assert out.startswith("# read runs.csv\n# fit 203 rows\n")
    assert configs.structure(Settings, tomllib.loads(out)) == Settings(seed=3)
    Output(json=True, dry_run=True).emit_plan(Settings(seed=3), ["read"])
    assert json.loads(capsys.readouterr().out)["config"] == {"seed": 3, "floor": None}


def test_without_out_there_is_no_run_and_with_it_there_is(tmp_path: Path) -> None:
    with TO_TERMINAL.run("fit", config=Settings()) as run_folder:
        assert run_folder is None
    with Output(out=tmp_path / "run").run("fit", config=Settings()) as run_folder:
        assert isinstance(run_folder, Run)
    assert (tmp_path / "run" / "manifest.json").exists()
