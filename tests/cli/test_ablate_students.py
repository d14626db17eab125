"""``depthlaw ablate`` on runs of ``depthlaw lab``."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from depthlaw.cli import main  # noqa: E402
from depthlaw.lab import trained  # noqa: E402
from depthlaw.lab.config import LabConfig, Rate, Student, Teacher  # noqa: E402
from depthlaw.lab.experiment import train_lab  # noqa: E402
from depthlaw.lab.trained import choose, load_student, load_students, open_lab_run  # noqa: E402

SMALL = LabConfig(
    rho=(0.0, 1.0),
    steps=400,
    batch=128,
    test_every=0,
    test_batches=4,
    log_every=100,
    teacher=Teacher(depth=32),
    student=Student(depths=(4, 10)),
    rate=Rate(base=4e-3),
    threads=1,
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Small matrices: threads would mostly wait for each other."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "run"
    train_lab(SMALL, out=folder)
    return folder


def payload(capsys, *words: str) -> dict:
    assert main(["ablate", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_deepest_of_each_rho_is_taken_and_averaging_tested(run: Path, capsys) -> None:
    plans = ["--plan", "skip each", "swap neighbours", "swap distance 2", "swap distance 4"]
    found = payload(capsys, str(run), *plans)
    assert [(s["rho"], s["depth"], s["replica"]) for s in found["students"]] == [(0.0, 10, 0), (1.0, 10, 0)]
    for student in found["students"]:
        skips = student["averaging"]["skips"]
        assert skips["blocks"] == 8
        assert skips["predicted"] == pytest.approx(student["intact"] / 9)
        assert skips["mean"] > 0
        assert student["averaging"]["swaps"]["distances"] == [1, 2, 4]
        assert student["n_samples"] == 4 * 128
        assert all(row["delta_loss_stderr"] > 0 for row in student["plans"])
        assert "delta_loss" in student["agreement"]["names"]
    # Independent blocks: skips cost evenly, swaps next to nothing, and far less with distance than a flow's.
    averaging = found["students"][0]["averaging"]
    assert averaging["skips"]["variation"] < 0.3
    assert averaging["swaps"]["cost"][0] < 0.1 * averaging["skips"]["mean"]
    assert averaging["swaps"]["averaging"] == pytest.approx(1.422, abs=1e-3)
    assert averaging["swaps"]["exponent"] == pytest.approx(averaging["swaps"]["averaging"], abs=0.4)


def test_text_names_the_order_and_the_prediction(run: Path, capsys) -> None:
    assert main(["ablate", str(run), "--plan", "skip each", "0-", "--rho", "0", "--depth", "4"]) == 0
    said = capsys.readouterr().out
    assert "replica 0, rho 0, depth 4: mse" in said
    assert "0,2-3" in said
    assert "averaging predicts 0.33, evenly" in said
    assert "no rank correlation: 4 single skips, of 5 at least" in said
    assert "is the intact student" in said


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--save", "elsewhere", "only a language model is saved"),
        ("--drop", "2", '--plan "skip window K"'),
        ("--text", "a.txt", "fresh inputs of their own task"),
    ],
)
def test_what_only_language_models_have_says_what_students_have(run, capsys, flag, value, said) -> None:
    assert main(["ablate", str(run), flag, value]) == 2
    err = capsys.readouterr().err
    assert f"{flag} is for language models" in err
    assert said in err


def test_a_pair_needs_two_values(run, capsys) -> None:
    assert main(["ablate", str(run), "--depth-law", "1"]) == 2
    assert "--depth-law needs 2 values, not 1." in capsys.readouterr().err


def test_losses_are_those_of_the_tests(run: Path) -> None:
    """On inputs that nothing has seen, but of the same task: as the last test within its errors."""
    lab = open_lab_run(run)
    tested = pq.read_table(run / "metrics.parquet").to_pylist()
    chosen = choose(lab, depth=(4, 10))
    for (task, key), student in zip(chosen, load_students(lab, chosen), strict=True):
        assert student.inputs.shape == (4, 128, 32)
        outputs = student.stack.finish(student.stack.capture(student.inputs).states[-1]).double()
        losses = student.loss(outputs)
        wanted = [
            row["test_loss"]
            for row in tested
            if (row["rho"], row["depth"], row["step"]) == (task.rho, key.depth, SMALL.steps)
        ]
        assert float(losses.mean()) == pytest.approx(wanted[0], rel=0.15)
        assert float(student.distance(outputs, outputs).abs().max()) == 0
        again = load_student(lab, task, key, draw=1)
        assert np.isin(again.inputs.numpy(), student.inputs.numpy()).mean() < 0.01  # some values coincide


def test_weights_are_read_and_teachers_run_once_a_task(run: Path, monkeypatch) -> None:
    lab, read, said = open_lab_run(run), [], []
    weights, teacher = trained.read_weights, trained.draw_teacher
    monkeypatch.setattr(trained, "read_weights", lambda *task: read.append(task) or weights(*task))
    monkeypatch.setattr(trained, "draw_teacher", lambda *task: said.append(task) or teacher(*task))
    chosen = choose(lab, depth=lab.config.student.depths)
    students = list(load_students(lab, chosen))
    assert [(s.rho, s.depth) for s in students] == [(task.rho, key.depth) for task, key in chosen]
    assert len(read) == len(said) == len(lab.tasks) < len(students)


def test_results_are_kept_and_continued(run: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    words = ["ablate", str(run), "--plan", "skip each", "swap neighbours", "swap distance 2"]
    words += ["--out", str(tmp_path / "plans")]
    assert main(words) == 0
    first = capsys.readouterr().out
    names = {path.name for path in (tmp_path / "plans").iterdir()}
    assert {"plans.parquet", "result.json", "ablate.txt", "plans.pdf", "swaps.svg"} <= names
    assert (tmp_path / "plans" / "ablate.txt").read_text() == first
    table = pq.read_table(tmp_path / "plans" / "plans.parquet")
    assert table.num_rows == 2 * (10 + 9 + 8)
    assert table.column_names[:5] == ["replica", "rho", "temperature", "depth", "name"]
    manifest = (tmp_path / "plans" / "manifest.json").read_bytes()

    def never(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr("depthlaw.interventions.costs.plan_costs", never)
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert (tmp_path / "plans" / "manifest.json").read_bytes() == manifest


def test_students_that_are_done_are_not_measured_again(
    run: Path, tmp_path: Path, capsys, monkeypatch
) -> None:
    from depthlaw.interventions import costs

    words = ["ablate", str(run), "--plan", "skip each", "--out", str(tmp_path / "plans")]
    honest, ran = costs.plan_costs, []

    def killed_at(number):
        def measure(*args, **options):
            ran.append(len(ran))
            if len(ran) == number:
                raise KeyboardInterrupt
            return honest(*args, **options)

        return measure

    monkeypatch.setattr(costs, "plan_costs", killed_at(2))
    with contextlib.suppress(KeyboardInterrupt):
        assert main(words) != 0
    capsys.readouterr()
    monkeypatch.setattr(costs, "plan_costs", killed_at(0))
    assert main(words) == 0
    assert len(ran) == 3
    said = capsys.readouterr().out
    assert main(words[:-2]) == 0
    assert capsys.readouterr().out == said


def test_dry_run_lists_every_order(run: Path, capsys) -> None:
    assert main(["ablate", str(run), "--plan", "swap distance 3", "--depth", "4", "--dry-run"]) == 0
    assert "run swap 0 3 on replica0_rho1, depth4: 3 1 2 0" in capsys.readouterr().out


def test_students_with_a_head_are_judged_by_their_divergence(tmp_path: Path, capsys) -> None:
    kl = {"loss": "kl", "head": "fixed", "temperatures": (0.3, 1.0), "temperature_of": "both"}
    train_lab(SMALL, out=tmp_path / "run", **kl, steps=200, classes=16, student=Student(depths=(4,), order=2))
    found = payload(capsys, str(tmp_path / "run"), "--temperature", "0.3", "1", "--rho", "1")
    assert [s["temperature"] for s in found["students"]] == [0.3, 1.0]
    lab = open_lab_run(tmp_path / "run")
    tested = {
        row["temperature"]: row["test_loss"]
        for row in pq.read_table(tmp_path / "run" / "metrics.parquet").to_pylist()
        if row["rho"] == 1.0 and row["step"] == 200
    }
    for student in found["students"]:
        assert student["intact"] == pytest.approx(tested[student["temperature"]], rel=0.15)
    assert lab.config.loss == found["loss"] == "kl"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--depth", "7"], 2, "no student of depth 7 (have: 4, 10)"),
        (["--rho", "0.5"], 2, "no student of rho 0.5 (have: 0, 1)"),
        (["--temperature", "1"], 2, "no student of temperature 1 (have: none)"),
        (["--text", "notes.txt"], 2, "--text is for language models"),
        (["--max-length", "9"], 2, "--max-length is for language models"),
        (["--drop", "2"], 2, "--drop is for language models"),
        (["--plan", "0-12"], 2, "there is no block 12"),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Path, capsys, words, code, said) -> None:
    assert main(["ablate", str(run), *words]) == code
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) <= 3


def test_a_language_model_needs_a_text_and_has_no_students(capsys) -> None:
    assert main(["ablate", "some/model"]) == 2
    assert "--text SOURCE" in capsys.readouterr().err
    assert main(["ablate", "some/model", "--text", "x.txt", "--rho", "1"]) == 2
    assert "--rho chooses a student" in capsys.readouterr().err


def test_a_run_of_another_verb_is_named(run: Path, tmp_path: Path, capsys) -> None:
    assert main(["ablate", str(run), "--plan", "0-", "--out", str(tmp_path / "plans")]) == 0
    assert main(["ablate", str(tmp_path / "plans"), "--plan", "0-"]) == 3
    assert "is a run of depthlaw ablate, not of depthlaw lab" in capsys.readouterr().err


def test_a_student_that_diverged_is_left_out_and_refused_by_name(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "run"
    train_lab(SMALL, out=folder, rho=(0.0,), steps=20, log_every=10)
    table = pq.read_table(folder / "students.parquet")
    rows = table.to_pylist()
    rows[-1]["diverged"] = 11
    pq.write_table(type(table).from_pylist(rows, table.schema), folder / "students.parquet")
    assert [s["depth"] for s in payload(capsys, str(folder))["students"]] == [4]
    assert main(["ablate", str(folder), "--depth", "10"]) == 3
    assert "diverged" in capsys.readouterr().err
