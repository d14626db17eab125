"""``depthlaw reproduce``: always a table and a figure, from published runs or from made ones that say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from depthlaw.cli import main

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder on a machine without the published table and without a network."""
    monkeypatch.delenv("DEPTHLAW_DATA", raising=False)
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.data
def test_fig2f_beside_the_published_numbers(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Printed
) -> None:
    monkeypatch.setenv("DEPTHLAW_DATA", str(data_dir))
    assert main(["reproduce", "fig2f", "--check", "--out", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    head = next(line for line in out.splitlines() if "published" in line)
    assert head.split() == ["published", "ours", "difference", "digits", "verdict"]
    for name in ("alpha_width", "alpha_depth", "alpha_tokens", "floor", "mean_abs_rel_error"):
        (line,) = [line for line in out.splitlines() if line.startswith(name + " ")]
        assert line.endswith("pass")
    assert "203 of 245 runs" in out
    assert "statistically admissible, but not the optimum" in out
    assert f"results in {tmp_path / 'out'}" in err.splitlines()[-1]
    files = {path.name for path in (tmp_path / "out" / "fig2f").iterdir()}
    assert {"fig2f.pdf", "fig2f.png", "fig2f.svg", "fig2f_curve.parquet", "outcome.json"} <= files
    kept = json.loads((tmp_path / "out" / "fig2f" / "outcome.json").read_text())
    assert kept["verdict"] == "pass"


def test_offline_it_runs_on_made_runs_and_says_so(offline: Path, capsys: Printed) -> None:
    assert main(["reproduce", "fig2f"]) == 0
    out, err = capsys.readouterr()
    assert "on 60 made runs" in out
    assert "These runs are MADE, because dataset chinchilla is not on this machine" in out
    assert "'published' is that truth here, not the paper's numbers" in out
    assert "alpha_depth" in out
    assert "Traceback" not in err
    assert (offline / "depthlaw-reproduce" / "small" / "fig2f" / "fig2f.png").stat().st_size > 1000


def test_offline_a_second_time_uses_what_is_there(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For whatever reason the table is missing: a folder begun offline goes on when a download fails."""
    import urllib.error
    import urllib.request

    assert main(["reproduce", "fig2f", "--out", "here"]) == 0
    figure = offline / "here" / "fig2f" / "fig2f.svg"
    before = figure.stat().st_mtime_ns

    def refuse(*args: object, **options: object) -> None:
        raise urllib.error.URLError("no route to host")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    assert main(["reproduce", "fig2f", "--out", "here"]) == 0
    assert figure.stat().st_mtime_ns == before


def test_scales_do_not_share_a_folder(offline: Path) -> None:
    assert main(["reproduce", "fig2f", "--scale", "smoke"]) == 0
    assert main(["reproduce", "fig2f", "--scale", "paper"]) == 0
    assert {path.name for path in (offline / "depthlaw-reproduce").iterdir()} == {"smoke", "paper"}
    assert main(["reproduce", "fig2f", "--scale", "smoke", "--out", "depthlaw-reproduce/paper"]) == 2


def test_json_is_one_object(offline: Path, capsys: Printed) -> None:
    assert main(["reproduce", "fig2f", "--json", "--out", "here"]) == 0
    out = capsys.readouterr().out
    result = json.loads(out)
    assert result["schema"] == 3
    (one,) = result["experiments"]
    assert one["id"] == "fig2f"
    assert one["input"] == "60 made runs"
    assert {c["quantity"] for c in one["comparisons"]} >= {"alpha_depth", "floor"}
    for row in one["comparisons"]:
        assert {"published", "ours", "error", "difference", "digits", "verdict"} <= row.keys()
    assert [figure["name"] for figure in one["figures"]] == ["fig2f"]


def test_list_and_dry_run_compute_nothing(offline: Path, capsys: Printed) -> None:
    for flag in ("--list", "--dry-run"):
        assert main(["reproduce", flag]) == 0
        out = capsys.readouterr().out
        assert out.splitlines()[0].split()[0] == "fig2a"
        assert "decomposed scaling law" in out
    assert main(["reproduce", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["experiments"][0]["id"] == "fig2a"
    assert list(offline.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["fig2g"], "Did you mean fig2f?"),
        (["fig2f", "--scale", "huge"], 'invalid value "huge" for --scale'),
    ],
)
def test_what_cannot_be_meant(offline: Path, argv: list[str], said: str, capsys: Printed) -> None:
    assert main(["reproduce", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_check_fails_when_a_number_differs(
    offline: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    from depthlaw.reproduce import fig2f
    from depthlaw.reproduce.outcome import Outcome, compare
    from depthlaw.reproduce.paper import Published

    theirs = Published(1.2, "here", 1.0, error=0.1)
    outcome = Outcome("fig2f", "t", "i", comparisons=(compare("alpha_depth", theirs, 3.0),))
    monkeypatch.setattr(fig2f, "run", lambda scale: outcome)
    assert main(["reproduce", "fig2f", "--out", "a"]) == 0
    assert main(["reproduce", "fig2f", "--out", "b", "--check"]) == 3
    assert "differs" in capsys.readouterr().out
