"""Many experiments: kept ones are reused, failures stay alone, several processes give the same."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from depthlaw.data.manifest import read_manifest
from depthlaw.data.store import open_run
from depthlaw.errors import ConfigError, InputError, UsageError
from depthlaw.report.page.gather import gather
from depthlaw.report.page.write import write_report
from depthlaw.reproduce import fig2f, running
from depthlaw.reproduce.keeping import read_outcome
from depthlaw.reproduce.outcome import Outcome, Verdict
from depthlaw.reproduce.registry import select
from depthlaw.reproduce.running import run_all


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without tables, models and network: experiments on made runs, or skipped."""
    for name in ("DEPTHLAW_DATA", "DEPTHLAW_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note every run of fig2f."""
    real, runs = fig2f.run, []

    def run(scale: str) -> Outcome:
        runs.append(scale)
        return real(scale)

    monkeypatch.setattr(fig2f, "run", run)
    return runs


def test_a_kept_outcome_is_the_same_and_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = counted(monkeypatch)
    (first,) = run_all(select(["fig2f"]), "smoke", tmp_path / "out")
    (again,) = run_all(select(["fig2f"]), "smoke", tmp_path / "out")
    assert runs == ["smoke"]
    assert again == first == read_outcome(tmp_path / "out" / "fig2f")
    (anew,) = run_all(select(["fig2f"]), "smoke", tmp_path / "out", resume=False)
    assert runs == ["smoke", "smoke"]
    assert anew == first


def test_another_input_makes_it_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = counted(monkeypatch)
    list(run_all(select(["fig2f"]), "smoke", tmp_path / "out"))
    monkeypatch.setitem(running.inputs.SOURCES, "chinchilla", lambda scale: "another table")
    list(run_all(select(["fig2f"]), "smoke", tmp_path / "out"))
    assert runs == ["smoke", "smoke"]
    assert read_manifest(tmp_path / "out" / "fig2f").identity["inputs"] == {"chinchilla": "another table"}


def test_what_was_skipped_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = fig2f.run
    monkeypatch.setattr(fig2f, "run", lambda scale: Outcome("fig2f", "t", "", skipped="no such package"))
    (first,) = run_all(select(["fig2f"]), "smoke", tmp_path / "out")
    assert first.verdict is Verdict.SKIPPED
    monkeypatch.setattr(fig2f, "run", real)
    (again,) = run_all(select(["fig2f"]), "smoke", tmp_path / "out")
    assert again.verdict is not Verdict.SKIPPED
    assert read_outcome(tmp_path / "out" / "fig2f") == again


def test_a_damaged_file_makes_it_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = counted(monkeypatch)
    list(run_all(select(["fig2f"]), "smoke", tmp_path / "out"))
    (tmp_path / "out" / "fig2f" / "fig2f.svg").write_bytes(b"cut")
    list(run_all(select(["fig2f"]), "smoke", tmp_path / "out"))
    assert runs == ["smoke", "smoke"]
    assert read_outcome(tmp_path / "out" / "fig2f").figures["fig2f"].files["fig2f.svg"] != b"cut"


def test_a_folder_of_another_scale_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    list(run_all(select(["appB3"]), "smoke", tmp_path / "out"))
    runs = counted(monkeypatch)
    with pytest.raises(ConfigError, match="scale"):
        list(run_all(select(["fig2f", "appB3"]), "small", tmp_path / "out"))
    assert runs == []
    assert [o.id for o in run_all(select(["appB3"]), "small", tmp_path / "out", strict=False)] == ["appB3"]


def test_a_folder_of_something_else_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = counted(monkeypatch)
    with open_run(tmp_path / "law", verb="fit", config={}):
        pass
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "fit.json").write_text("{}")
    with open_run(tmp_path / "mixed" / "fig2f", verb="fit", config={}):
        pass
    for place, said in (
        ("law", "holds a run of depthlaw fit; reproduce needs a folder of its own"),
        ("foreign", r"is not empty and not a run folder \(it holds fit.json\)"),
        ("mixed", "fig2f holds a run of depthlaw fit"),
    ):
        for strict in (True, False):
            with pytest.raises(ConfigError, match=said):
                list(run_all(select(["fig2f"]), "smoke", tmp_path / place, strict=strict))
    assert runs == []
    assert [path.name for path in foreign.iterdir()] == ["fit.json"]


def test_runs_of_other_verbs_and_the_report_may_stand_beside(tmp_path: Path) -> None:
    with open_run(tmp_path / "law", verb="fit", config={}):
        pass
    list(run_all(select(["appB3"]), "smoke", tmp_path))
    write_report(gather(tmp_path), tmp_path)
    assert [outcome.id for outcome in run_all(select(["appB3"]), "smoke", tmp_path)] == ["appB3"]


def test_one_that_fails_stops_only_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(scale: str) -> Outcome:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(fig2f, "run", broken)
    failed, skipped = run_all(select(["fig2f", "appB3"]), "smoke", tmp_path / "out")
    assert (failed.verdict, skipped.verdict) == (Verdict.FAILED, Verdict.SKIPPED)
    assert "ZeroDivisionError: by nothing" in failed.failed
    kept = json.loads((tmp_path / "out" / "fig2f" / "outcome.json").read_text())
    assert kept["verdict"] == "failed"
    assert read_manifest(tmp_path / "out" / "fig2f").status == "failed"
    monkeypatch.undo()
    mended = next(iter(run_all(select(["fig2f"]), "smoke", tmp_path / "out")))
    assert mended.verdict is not Verdict.FAILED


def test_an_unusable_folder_in_the_cache_stops_only_what_needs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(scale: str) -> Outcome:
        raise ConfigError("cache/lab holds other files.", "Delete it.")

    monkeypatch.setattr(fig2f, "run", broken)
    failed, skipped = run_all(select(["fig2f", "appB3"]), "smoke", tmp_path / "out")
    assert failed.failed == "cache/lab holds other files. Delete it."
    assert skipped.verdict is Verdict.SKIPPED


def test_an_error_of_the_users_is_told_without_its_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(scale: str) -> Outcome:
        raise InputError("the table has gone.", "Bring it back.")

    monkeypatch.setattr(fig2f, "run", broken)
    (failed,) = run_all(select(["fig2f"]), "smoke", tmp_path / "out")
    assert failed.failed == "the table has gone. Bring it back."


def test_several_processes_give_the_same_in_the_same_order(tmp_path: Path) -> None:
    chosen = select(["appB3", "fig2f", "fig6"])
    one = list(run_all(chosen, "smoke", tmp_path / "one"))
    before = dict(os.environ)
    two = list(run_all(chosen, "smoke", tmp_path / "two", jobs=2))
    assert one == two
    assert [o.id for o in two] == [e.id for e in chosen]
    assert dict(os.environ) == before


def test_no_jobs_cannot_be_meant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="jobs is 0"):
        list(run_all(select(["fig2f"]), "smoke", tmp_path / "out", jobs=0))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"schema": 3}', b'{"schema": 99}', b"\x00\xff"])
def test_what_is_no_outcome_is_refused_with_a_way_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "outcome.json").write_bytes(content)
    with pytest.raises(InputError, match="no-resume"):
        read_outcome(tmp_path)
