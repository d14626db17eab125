"""``depthlaw fit`` as a user and a program see it: text, JSON, exit codes, folders, config files."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from depthlaw.cli import main
from depthlaw.laws.fit import Fit
from depthlaw.reproduce.made import made_runs

Printed = pytest.CaptureFixture[str]
FORMATS = ("pdf", "png", "svg")


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made runs as a file: everything is identified."""
    return write_csv(tmp_path_factory.mktemp("runs") / "runs.csv", made_runs())


@pytest.fixture(scope="module")
def two_depths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns = made_runs()
    keep = np.isin(columns["n_layers"], [6, 48])
    return write_csv(
        tmp_path_factory.mktemp("runs") / "two.csv", {name: v[keep] for name, v in columns.items()}
    )


def as_json(capsys: Printed, *argv: str, code: int = 0) -> dict[str, Any]:
    assert main(["fit", *argv, "--json"]) == code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_results_on_stdout_and_the_rest_on_stderr(runs: Path, capsys: Printed) -> None:
    assert main(["fit", str(runs)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("loss = ")
    assert "(60 runs)" in out.splitlines()[0]
    for word in ("alpha_width", "alpha_depth", "alpha_tokens", "floor", "95% interval", "starts agree"):
        assert word in out
    assert out.splitlines()[-1].startswith("depth exponent ")
    assert "smooth dynamics (3)" in out.splitlines()[-1]
    assert f"{runs}: 60 runs" in err
    assert "width    from d_model (recognised, " in err
    assert "loss = " not in err
    assert "\x1b" not in out + err


def test_json_has_the_names_that_programs_rely_on(runs: Path, capsys: Printed) -> None:
    result = as_json(capsys, str(runs))
    assert result["schema"] == 1
    assert result["n_runs"] == 60
    assert result["form"] == "width + depth + tokens + floor"
    assert result["level"] == 0.95
    assert {"mse", "mean_abs_rel_error", "aicc", "bic"} <= result["quality"].keys()
    assert list(result["params"]) == [
        "c_width", "alpha_width", "c_depth", "alpha_depth", "c_tokens", "alpha_tokens", "floor",
    ]  # fmt: skip
    for one in result["params"].values():
        assert {"value", "stderr", "interval", "status"} <= one.keys()
        assert one["interval"][0] < one["value"] < one["interval"][1]
        assert one["status"] == "ok"
    assert result["warnings"] == []
    certificate = result["certificate"]
    assert certificate["converged"] is True
    assert certificate["starts"] == 128
    assert certificate["objective"] == pytest.approx(result["quality"]["mse"], rel=1e-12)
    assert result["verdict"].startswith("depth exponent ")


def test_not_identified_is_exit_4_and_prints_what_is_known(two_depths: Path, capsys: Printed) -> None:
    result = as_json(capsys, str(two_depths), code=4)
    depth = result["params"]["alpha_depth"]
    assert (depth["value"], depth["stderr"], depth["interval"], depth["status"]) == (
        None, None, None, "not-identified",
    )  # fmt: skip
    assert "only two values of depth (6, 48)" in depth["reason"]
    assert result["params"]["alpha_width"]["status"] == "ok"
    (warning,) = [w for w in result["warnings"] if w["code"] == "not-identified"]
    assert warning.keys() == {"code", "message", "rows"}

    assert main(["fit", str(two_depths)]) == 4
    out = capsys.readouterr().out
    assert "c_depth depth^-alpha_depth" in out.splitlines()[0]
    assert "note: depth and floor: only two values of depth (6, 48)" in out
    assert "depth exponent not identified" in out


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["nowhere.csv"], 3, "nowhere.csv"),
        (["RUNS", "--starts", "8"], 2, "8 starts are too few"),
        (["RUNS", "--level", "95"], 2, "level 95 is not a confidence level"),
        (["RUNS", "--form", "width + breadth"], 2, "breadth"),
        (["RUNS", "--form", "width ** 2"], 2, "cannot read the term"),
        (["RUNS", "--fix", "alpha_depht=1"], 2, "Did you mean alpha_depth?"),
        (["RUNS", "--tie", "alpha_depth=alpha_width", "alpha_width=alpha_depth"], 2, "constrained twice"),
        (["RUNS", "--depth-offset", "6"], 2, "depth offset 6 is not below the smallest depth, 6"),
        (["RUNS", "--width", "n_heads"], 2, "n_heads"),
        (["RUNS", "--where", "loss <"], 2, "loss <"),
        (["RUNS", "--where", "loss < 0"], 3, "none of 60 rows"),
        (["RUNS", "--where", "n_layers == 6 and d_model == 512"], 4, "not identified"),
        (["RUNS", "--exclude-highest", "60"], 2, "leaves none"),
        (["RUNS", "--against", "nobody"], 2, 'point "nobody" not found'),
        ([], 2, "RUNS is missing"),
    ],
)
def test_exit_codes(argv: list[str], code: int, said: str, runs: Path, capsys: Printed) -> None:
    assert main(["fit", *(str(runs) if word == "RUNS" else word for word in argv)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    error = err[err.index("depthlaw: ") :]
    assert said in error
    assert len(error.splitlines()) <= 3


def test_settings_reach_the_fit(runs: Path, capsys: Printed) -> None:
    result = as_json(
        capsys, str(runs), "--depth-offset", "2", "--fix", "alpha_width=0.9,floor=1.7", "--level", "0.9"
    )
    assert result["form"] == "width + (depth - 2) + tokens + floor"
    assert result["level"] == 0.9
    assert result["params"]["alpha_width"] == {
        "value": 0.9, "stderr": None, "interval": None, "status": "fixed", "reason": "held fixed",
    }  # fmt: skip
    tied = as_json(capsys, str(runs), "--tie", "alpha_width=alpha_depth", "--no-floor")
    assert tied["params"]["alpha_width"]["status"] == "tied"
    assert tied["params"]["floor"]["value"] == 0.0


def test_a_config_file_under_the_flags(runs: Path, capsys: Printed, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('form = "width + depth + tokens"\nlevel = 0.8\n[fix]\nalpha_width = 0.9\n')
    of_file = as_json(capsys, str(runs), "--config", str(settings))
    assert of_file["level"] == 0.8
    assert of_file["params"]["alpha_width"]["status"] == "fixed"
    flags = ["--level", "0.9", "--fix", "alpha_width=0.95"]
    of_flag = as_json(capsys, str(runs), "--config", str(settings), *flags)
    assert of_flag["level"] == 0.9
    assert of_flag["params"]["alpha_width"]["value"] == 0.95
    settings.write_text("levle = 0.8\n")
    assert main(["fit", str(runs), "--config", str(settings)]) == 2
    assert "did you mean level?" in capsys.readouterr().err


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    runs: Path, capsys: Printed, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert main(["fit", str(runs), "--dry-run", "--level", "0.9", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"# fit width + depth + tokens + floor to 60 runs of {runs}\n")
    assert tomllib.loads(said)["level"] == 0.9
    assert not out.exists()
    (tmp_path / "again.toml").write_text(said)
    assert as_json(capsys, str(runs), "--config", str(tmp_path / "again.toml"))["level"] == 0.9


def test_another_law_against_the_data(runs: Path, capsys: Printed) -> None:
    result = as_json(capsys, str(runs), "--against", "paper")
    check = result["against"]
    assert check["name"] == "the published point"
    assert check["optimum"] == result["certificate"]["objective"] < check["objective"]
    assert check["admissible"] is (check["statistic"] <= check["threshold_all"])
    assert main(["fit", str(runs), "--against", "paper"]) == 0
    assert "the published point: mse" in capsys.readouterr().out


@pytest.fixture(scope="module")
def kept(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "fit"
    assert main(["fit", str(runs), "--out", str(folder)]) == 0
    return folder


def test_out_keeps_the_fit_its_figures_and_their_data(kept: Path, capsys: Printed) -> None:
    figures = {f"{name}.{kind}" for name in ("parts", "residuals", "profiles") for kind in FORMATS}
    tables = {"params", "rows", "profiles", "parts_width", "parts_depth", "parts_tokens"}
    names = {path.name for path in kept.iterdir() if not path.name.startswith(".")}
    assert names - {"log.txt"} == figures | {f"{t}.parquet" for t in tables} | {
        "manifest.json", "fit.json", "result.json", "fit.txt",
    }  # fmt: skip
    manifest = json.loads((kept / "manifest.json").read_text())
    assert manifest["status"] == "done"
    assert set(manifest["files"]) == names - {"manifest.json", "log.txt"}
    law = Fit.load(kept)
    result = json.loads((kept / "result.json").read_text())
    assert result["params"]["alpha_depth"]["value"] == law["alpha_depth"].value
    rows = pq.read_table(kept / "rows.parquet").to_pydict()
    parts = [np.array(rows[f"term_{s}"]) for s in ("width", "depth", "tokens", "floor")]
    np.testing.assert_allclose(sum(parts), rows["predicted"], rtol=1e-14)
    np.testing.assert_allclose(np.log(rows["predicted"]) - np.log(rows["loss"]), rows["residual"], atol=1e-13)
    for table in tables:
        columns = pq.read_schema(kept / f"{table}.parquet").names
        assert set(columns) <= manifest["units"].keys()


def test_the_same_command_reuses_what_is_there(runs: Path, kept: Path, capsys: Printed) -> None:
    before = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert main(["fit", str(runs), "--out", str(kept)]) == 0
    out, err = capsys.readouterr()
    assert out == (kept / "fit.txt").read_text()
    assert "wrote" not in err
    assert {path: path.stat().st_mtime_ns for path in kept.iterdir()} == before


def test_other_settings_do_not_overwrite(runs: Path, kept: Path, capsys: Printed) -> None:
    assert main(["fit", str(runs), "--out", str(kept), "--level", "0.9"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "holds a run with other settings: level" in err
    assert "--no-resume" in err
    assert Fit.load(kept).level == 0.95


def test_a_fit_that_is_not_identified_is_kept_too(two_depths: Path, tmp_path: Path, capsys: Printed) -> None:
    assert main(["fit", str(two_depths), "--out", str(tmp_path / "fit")]) == 4
    assert json.loads((tmp_path / "fit" / "manifest.json").read_text())["status"] == "done"
    assert Fit.load(tmp_path / "fit")["alpha_depth"].status == "not-identified"
    assert (tmp_path / "fit" / "parts.svg").stat().st_size > 1000


@pytest.mark.data
def test_the_paper_on_the_command_line(data_dir: Path, capsys: Printed) -> None:
    table = str(data_dir / "runs" / "chinchilla.csv")
    assert main(["fit", table, "--exclude-highest", "40", "--against", "paper"]) == 0
    out = capsys.readouterr().out
    assert "(203 runs)" in out
    assert "mse of ln(loss) 0.0000302737, mean relative error 0.40%" in out
    assert "n ln(ratio) = 2.03" in out
    assert "depth exponent 1.33 [0.93, 1.74]" in out
