"""Whole experiments: run folders, interruption, presets, and what the command line makes of them."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from depthlaw.cli import main
from depthlaw.data.store import open_run
from depthlaw.errors import ConfigError, UsageError
from depthlaw.lab.config import LabConfig, Student
from depthlaw.lab.experiment import run_options, train_lab
from depthlaw.lab.plan import cost
from depthlaw.lab.presets import preset, preset_names
from depthlaw.lab.training import Progress

RESULTS = ("metrics.parquet", "test_batches.parquet", "students.parquet", "weights/replica0_rho0.safetensors")
FLAGS = (  # noqa: SIM905 - a command line reads best as one
    "--steps 20 --test-every 10 --log-every 10 --batch 16 --test-batches 2 --width 8 --hidden 16 --threads 1 "
    "--teacher.depth 4 --student.depths 1 2 --engine torch"
).split()


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in RESULTS}


def test_one_run_from_seed_to_table(small, engine: str) -> None:
    result = train_lab(small(engine=engine, rho=(0.0, 1.0), replicates=2))
    assert result.status == "done"
    assert result.engine == engine
    rows = result.to_table().to_pylist()
    assert len(rows) == 2 * 2 * 3 * 4  # replicates, rho, depths, rows
    assert {(row["replica"], row["rho"]) for row in rows} == {(r, p) for r in (0, 1) for p in (0.0, 1.0)}
    assert all(row["temperature"] is None for row in rows)
    batches = result.test_batches.to_pandas()
    means = batches.groupby(["replica", "rho", "depth", "step"])["test_loss"].mean()
    for row in rows:
        if row["test_loss"] is not None:
            key = (row["replica"], row["rho"], row["depth"], row["step"])
            assert row["test_loss"] == pytest.approx(means[key])
    assert "<table" in result._repr_html_()


def stop_at(step: int, number: signal.Signals):
    def progress(state: Progress) -> None:
        if state.step >= step:
            os.kill(os.getpid(), number)

    return progress


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_and_continued_is_the_same_to_the_byte(
    small, tmp_path: Path, number, monkeypatch
) -> None:
    config = small(rho=(0.0, 1.0))
    train_lab(config, out=tmp_path / "whole")
    handlers = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
    interruptions = 0
    for _ in range(20):
        try:
            # progress is called at the end of a task at the latest: stop there, and at once in the others
            monkeypatch.setattr("depthlaw.lab.training.SHOW_EVERY", 0.0)
            train_lab(config, out=tmp_path / "parts", progress=stop_at(13 * (interruptions + 1), number))
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions >= 2
    assert contents(tmp_path / "whole") == contents(tmp_path / "parts")
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_kill_between_a_checkpoint_and_its_record_loses_nothing(small, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train_lab(small(steps=2000), out=out, progress=stop_at(30, signal.SIGINT))
    manifest = json.loads((out / "manifest.json").read_text())
    del manifest["files"]["checkpoint.safetensors"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    seen: list[int] = []

    def progress(state: Progress) -> None:
        seen.append(state.step)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train_lab(small(steps=2000), out=out, progress=progress)
    assert seen[0] > 30
    with pytest.raises(KeyboardInterrupt):
        train_lab(small(steps=2000), out=out, resume=False, progress=progress)
    assert seen[1] < 2000  # started over, whatever stood there


def test_a_finished_run_is_read_back(small, tmp_path: Path) -> None:
    first = train_lab(small(), out=tmp_path / "run")
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    again = train_lab(small(), out=tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    assert again.metrics.equals(first.metrics)
    for task, networks in first.networks.items():
        for key, network in networks.items():
            for name, array in network.as_dict().items():
                assert np.array_equal(array, again.networks[task][key].as_dict()[name])


def test_a_task_whose_weights_are_damaged_is_trained_anew_and_later_ones_keep_their_rows(
    small, tmp_path: Path
) -> None:
    config, out, trained = small(rho=(0.0, 0.5, 1.0)), tmp_path / "run", set()
    first = train_lab(config, out=out)
    before = contents(out)
    (out / "weights" / "replica0_rho0.safetensors").write_bytes(b"cut")
    again = train_lab(config, out=out, progress=lambda state: trained.add(state.task.rho))
    assert trained == {0.0}
    assert again.metrics.equals(first.metrics)
    assert list(again.networks) == list(first.networks)
    assert contents(out) == before


def test_weights_whose_rows_are_lost_are_trained_anew(small, tmp_path: Path) -> None:
    config, out, trained = small(rho=(0.0, 0.5)), tmp_path / "run", set()
    first = train_lab(config, out=out)
    with open_run(out, verb="lab", **run_options(config)) as run:
        for name in ("metrics", "test_batches", "students"):
            whole = pq.read_table(out / f"{name}.parquet")
            run.write_table(f"{name}.parquet", whole.filter(pc.equal(whole["rho"], 0.0)))
    again = train_lab(config, out=out, progress=lambda state: trained.add(state.task.rho))
    assert trained == {0.5}
    assert again.students.equals(first.students)


def test_the_tables_of_a_finished_run_are_read_once(small, tmp_path: Path, monkeypatch) -> None:
    config = small(rho=(0.0, 0.5, 1.0), steps=10, test_every=10)
    train_lab(config, out=tmp_path / "run")
    read, real = [], pq.read_table
    monkeypatch.setattr(pq, "read_table", lambda path: read.append(path.name) or real(path))
    train_lab(config, out=tmp_path / "run")
    assert sorted(read) == ["metrics.parquet", "students.parquet", "test_batches.parquet"]


def test_another_experiment_in_the_same_folder_is_refused(small, tmp_path: Path) -> None:
    train_lab(small(), out=tmp_path / "run")
    train_lab(small(threads=2, checkpoint_every="1s"), out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"rate\.base"):
        train_lab(small(rate=replace(small().rate, base=1.0)), out=tmp_path / "run")


def test_tests_off_the_rows_of_the_metrics_are_told_which_rows_would_do() -> None:
    with pytest.raises(UsageError, match="multiple of log_every") as caught:
        LabConfig(test_every=10)
    assert caught.value.hint is not None
    assert "--log-every 10" in caught.value.hint
    assert LabConfig(test_every=10, log_every=10).test_every == 10


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_trains(name: str) -> None:
    whole = preset(name)
    assert cost(whole).students == len(whole.student.depths) * max(1, len(whole.temperatures))
    result = train_lab(
        whole,
        steps=2,
        log_every=1,
        test_every=0,
        test_batches=1,
        batch=8,
        teacher=replace(whole.teacher, depth=2),
        temperatures=whole.temperatures[:2],
        student=replace(whole.student, depths=(1, 2)),
    )
    assert np.isfinite(result.metrics["train_loss"].to_numpy()).all()


def test_the_work_of_the_paper_is_counted_as_in_the_protocol() -> None:
    assert cost(preset("mse")).passes == 542
    assert cost(preset("kl-tied")).passes == 6752


@pytest.mark.parametrize(
    "settings",
    [
        {"rho": (1.5,)},
        {"rho": ()},
        {"rho": (0.5, 0.5)},
        {"rho": (0.1234567, 0.12345671)},
        {"loss": "kl", "head": "learned", "temperatures": (1.0, 0.5, 0.5000001)},
        {"steps": 0},
        {"head": "learned"},
        {"loss": "kl"},
        {"temperatures": (1.0,)},
        {"test_every": 15},
        {"checkpoint_every": "soon"},
        {"student": Student(tableau=(0.5, 1.0))},
        {"student": Student(depths=(0,))},
        {"threads": 0},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(settings) -> None:
    with pytest.raises(UsageError) as caught:
        LabConfig(**settings)
    assert len(str(caught.value).splitlines()) <= 3


def test_command_line_flags_win_over_the_preset(capsys) -> None:
    assert main(["lab", "kl-tied", *FLAGS, "--temperatures", "0.5", "--rho", "0.25", "--json"]) == 0
    final = json.loads(capsys.readouterr().out)["final"]
    assert {(row["rho"], row["temperature"], row["depth"]) for row in final} == {
        (0.25, 0.5, 1),
        (0.25, 0.5, 2),
    }


def test_command_line_file_wins_over_the_preset(capsys, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("rho = [0.75]\n[teacher]\ndepth = 3\n")
    flags = [word for word in FLAGS if word not in ("--teacher.depth", "4")]
    assert main(["lab", "mse", *flags, "--config", str(file), "--dry-run", "--json"]) == 0
    config = json.loads(capsys.readouterr().out)["config"]
    assert config["rho"] == [0.75]
    assert config["teacher"]["depth"] == 3


def test_command_line_keeps_a_run_and_reads_it_again(capsys, tmp_path: Path) -> None:
    words = ["lab", "mse", *FLAGS, "--rho", "0", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "done"
    assert pq.read_table(tmp_path / "run" / "metrics.parquet").num_rows == 4


def test_command_line_says_what_diverged(capsys) -> None:
    assert main(["lab", "mse", *FLAGS, "--rho", "0", "--rate.base", "1e39"]) == 3
    out = capsys.readouterr().out
    assert "note: student of depth 1 (replica 0, rho 0) diverged at step" in out


def test_command_line_says_what_is_worse_than_untrained_and_goes_on(capsys) -> None:
    assert main(["lab", "mse", *FLAGS, "--rho", "0", "--rate.base", "30", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["status"] == "done"
    assert [row["depth"] for row in payload["saturated"]] == [1, 2]
    assert {warning["code"] for warning in payload["warnings"]} == {"saturated"}


def test_command_line_answers_an_unknown_preset(capsys) -> None:
    assert main(["lab", "kl-tide"]) == 2
    assert "Did you mean kl-tied?" in capsys.readouterr().err
