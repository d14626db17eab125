"""``depthlaw report``: the path of the page last, one clear line where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from depthlaw.cli import main
from depthlaw.data.store import open_run
from depthlaw.reproduce.keeping import write_outcome
from depthlaw.reproduce.outcome import Outcome

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an experiment, a run and a run that failed, seen from the folder above."""
    monkeypatch.chdir(tmp_path)
    outcome = Outcome("fig4a", "A title", "", skipped="no torch here")
    with open_run("all/fig4a", verb="reproduce", config={"experiment": "fig4a", "scale": "small"}) as run:
        write_outcome(run, outcome)
    with open_run("all/mine", verb="fit", config={}) as run:
        run.write_text("fit.txt", "loss = 1\n")
    return tmp_path / "all"


def test_the_path_of_the_page_is_the_last_line(folder: Path, capsys: Printed) -> None:
    assert main(["report", "all"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "all/report.html"
    assert "1 was skipped" in out
    assert err == ""
    assert "no torch here" in (folder / "report.html").read_text()
    assert json.loads((folder / "report.json").read_text())["folder"] == "all"
    assert "no torch here" in (folder / "report.md").read_text()


def test_elsewhere(folder: Path, capsys: Printed) -> None:
    assert main(["report", "all", "--out", "pages/one"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "pages/one/report.html"
    assert sorted(path.name for path in folder.iterdir()) == ["fig4a", "mine"]
    assert Path("pages/one/report.html").is_file()


def test_json_is_what_the_file_says(folder: Path, capsys: Printed) -> None:
    assert main(["report", "all", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == (folder / "report.json").read_text()
    assert err == "wrote all/report.html\n"


def test_a_bad_run_is_a_line_and_not_the_end(folder: Path, capsys: Printed) -> None:
    (folder / "mine" / "manifest.json").write_text("{")
    assert main(["report", "all"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "all/report.html"
    (line,) = err.splitlines()
    assert line.startswith("warning: mine manifest.json is damaged")


def test_a_folder_in_which_no_run_can_be_read_is_a_failure_with_a_page(folder: Path, capsys: Printed) -> None:
    (folder / "mine" / "manifest.json").write_text("{")
    assert main(["report", "all/mine"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("No run here can be read.")
    assert err.startswith("warning: mine manifest.json is damaged")
    assert (folder / "mine" / "report.html").is_file()


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["nowhere"], 3, "nowhere: no such folder."),
        (["all/mine/fit.txt"], 3, "all/mine/fit.txt is a file, not a folder of runs."),
        (["all/mine/manifest.json"], 3, "Give its folder: all/mine"),
        (["empty"], 3, "Make one: depthlaw reproduce --scale smoke --out empty"),
        (["loop"], 3, "loop cannot be read"),
        (["all", "--out", "all/mine/fit.txt"], 3, "cannot write all/mine/fit.txt/report.md"),
        (["all", "--out", "foreign"], 3, "foreign/report.md is there, and depthlaw report did not write it."),
        ([], 2, "DIR is missing"),
        ([""], 2, "empty"),
    ],
)
def test_what_cannot_be_reported(
    folder: Path, argv: list[str], code: int, said: str, capsys: Printed
) -> None:
    Path("empty").mkdir()
    Path("foreign").mkdir()
    Path("foreign/report.md").write_text("mine")
    Path("loop").symlink_to("loop")
    assert main(["report", *argv]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert len(err.splitlines()) <= 3
    assert "Traceback" not in err
    assert list(Path().glob("**/report.html")) == []
