"""The verbs predict, plan and design from the outside: what they print, write and return."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from depthlaw.cli import main
from depthlaw.laws.fit import fit
from depthlaw.reproduce.made import made_runs

Printed = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("fit") / "fit.json"
    fit(made_runs()).save(path)
    return str(path)


@pytest.fixture
def one_dial(tmp_path: Path) -> str:
    rows = ["width,depth,tokens,loss"]
    for k, (depth, tokens) in enumerate((d, t) for d in (6, 8, 12, 16, 24, 32) for t in (1e9, 1e10, 1e11)):
        width = 64 * depth
        loss = 1.7 + 300 * width**-0.9 + 5 * depth**-1.2 + 500 * tokens**-0.3
        rows.append(f"{width},{depth},{tokens:.0f},{loss * (1 + 0.003 * (-1) ** k)}")
    path = tmp_path / "one_dial.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def said(capsys: Printed, *argv: str, code: int = 0) -> Any:
    assert main([*argv, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_predict_points_and_a_table_of_them(saved: str, tmp_path: Path, capsys: Printed) -> None:
    one = said(capsys, "predict", saved, "--width", "2048", "4096", "--depth", "24", "--tokens", "1e11")
    assert [p["width"] for p in one["points"]] == [2048, 4096]
    assert one["points"][0]["interval"][0] < one["points"][0]["loss"] < one["points"][0]["interval"][1]
    table = tmp_path / "points.csv"
    table.write_text("d_model,n_layers,tokens\n2048,24,1e11\n4096,24,1e11\n", encoding="utf-8")
    assert said(capsys, "predict", saved, "--points", str(table))["points"] == one["points"]
    assert main(["predict", saved, "--width", "2048", "--depth", "24", "--tokens", "1e11"]) == 0
    out = capsys.readouterr().out
    assert "profile likelihood; single run: widened by the runs' scatter" in out
    assert main(["predict", saved, "--points", str(table), "--width", "3"]) == 2
    assert main(["predict", saved, "--width", "2048"]) == 2
    capsys.readouterr()


def test_predict_inverts(saved: str, capsys: Printed) -> None:
    tokens = said(capsys, "predict", saved, "--loss", "2.6", "--width", "2048", "--depth", "24")["answers"]
    assert tokens[0]["solved_for"] == "tokens"
    assert tokens[0]["answer"] == "reached"
    below = said(capsys, "predict", saved, "--loss", "1.5", "--resamples", "60")["answers"]
    assert (below[0]["answer"], below[0]["value"]) == ("unreachable", None)
    assert main(["predict", saved, "--loss", "1.5", "--resamples", "60"]) == 0
    assert "loss 1.5: unreachable by FLOP" in capsys.readouterr().out


def test_plan_writes_everything_and_reuses_it(saved: str, tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "plan"
    argv = ["plan", saved, "--params", "1e9", "--shape", "2048x20", "--resamples", "60", "--against", saved]
    first = said(capsys, *argv, "--out", str(out))
    assert first["best"]["depth"]["interval"][0] < first["best"]["depth"]["value"]
    assert first["against"]["depth"] == pytest.approx(first["best"]["depth"]["value"])
    assert first["buildable"][0]["config"]["model_type"] == "llama"
    names = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert {"fit.json", "result.json", "plan.txt", "plan.parquet", "landscape.png", "equal_cost.svg"} <= names
    assert {"landscape.parquet", "equal_cost.parquet", "best_line.parquet"} <= names
    assert sum(name.startswith("configs/") for name in names) == 5
    before = {name: (out / name).read_bytes() for name in names}
    assert said(capsys, *argv, "--out", str(out)) == first
    assert {name: (out / name).read_bytes() for name in names} == before
    assert main(["plan", saved, "--params", "2e9", "--out", str(out)]) == 2
    text = (out / "plan.txt").read_text(encoding="utf-8")
    for part in ("best allocation (closed form", "flatness:", "shapes that can be built (llama", "what if:"):
        assert part in text


def test_plan_says_what_is_missing(saved: str, one_dial: str, capsys: Printed) -> None:
    assert main(["plan", saved]) == 2
    assert "a plan needs a budget" in capsys.readouterr().err
    assert main(["plan", saved, "--params", "1e9", "--form", "width + depth"]) == 2
    assert "is a saved fit" in capsys.readouterr().err
    assert main(["plan", one_dial, "--params", "1e9", "--form", "params + tokens"]) == 2
    assert "--params-column COLUMN" in capsys.readouterr().err
    assert main(["plan", one_dial, "--params", "1e9"]) == 4
    assert "Along the line of the data, depth = 0.01563 width^1" in capsys.readouterr().err
    along = said(capsys, "plan", one_dial, "--params", "1e9", "--ray", "--resamples", "60")
    assert along["best"]["width"]["value"] / along["best"]["depth"]["value"] == pytest.approx(64, rel=1e-4)
    assert main(["plan", saved, "--flops", "1e21", "--dry-run"]) == 0
    assert "flops = 1e+21" in capsys.readouterr().out


def test_plan_reads_its_settings_from_a_file(saved: str, tmp_path: Path, capsys: Printed) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('params = 1e9\ndepth_range = [8, 16]\narch = "gpt2"\nresamples = 60\n', encoding="utf-8")
    result = said(capsys, "plan", saved, "--config", str(file))
    assert result["best"]["depth"]["value"] == 16
    assert result["buildable"][0]["config"]["model_type"] == "gpt2"
    assert "depth-at-edge" in {w["code"] for w in result["warnings"]}


def test_design_lists_runs_with_their_cost(saved: str, tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "design"
    argv = ["design", saved, "--budget", "1e20", "--resamples", "16"]
    result = said(capsys, *argv, "--out", str(out))
    assert result["flops"] <= 1e20
    assert result["width"]["after"] < result["width"]["plain_grid"]
    assert {"runs.parquet", "design.txt", "design.pdf"} <= {p.name for p in out.iterdir()}
    assert main([*argv, "--goal", "all"]) == 0
    assert "to know: all parameters together" in capsys.readouterr().out
    assert main(["design", saved]) == 2
    assert "--budget" in capsys.readouterr().err
