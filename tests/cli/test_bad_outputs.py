"""Every verb that keeps something, given a place it cannot write, a full disk, or an end in the middle.

Whatever happens: the right exit code, at most three lines, no unfinished file, a manifest that tells the
truth, and the same command goes on.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.figure
import pytest

from depthlaw.cli.app import VERBS
from depthlaw.data import files
from depthlaw.data.files import TEMPORARY, locked
from depthlaw.data.manifest import read_manifest, record_of

LAB = "--steps 4 --batch 8 --test-every 0 --test-batches 2 --log-every 2 --width 4 --hidden 8 --threads 1"
GOOD = {
    "fit": "runs.csv --starts 64",
    "compare": "runs.csv --starts 64 --splits 2",
    "sensitivity": "runs.csv --starts 64 --vary offset",
    "lab": f"{LAB} --engine torch --teacher.depth 2 --student.depths 2 3 4",
    "plan": "fit.json --params 1e9 --resamples 50",
    "design": "fit.json --budget 1e20 --resamples 8",
    "probe": "model --text text.txt --limit 4 --max-length 16 --batch-size 1",
    "family": "probes/4 probes/6 probes/8",
    "trace": "model --prompts prompts.jsonl --limit 2 --samples 2",
    "ablate": "model --text text.txt --limit 4 --max-length 16 --batch-size 1 --plan 1-",
    "reproduce": "appB3 --scale smoke",
    "report": "probes",
}
"""What each verb that keeps something is given: small, and quick."""
RUNS = [verb for verb in GOOD if verb in VERBS and verb not in ("reproduce", "report")]
"""Those for which --out is a run folder; reproduce keeps one below it for each experiment."""


@pytest.fixture(autouse=True)
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw figures, but spare the time to render them."""

    def savefig(figure: object, file: object, **options: object) -> None:
        file.write(b"<svg/>")  # type: ignore[attr-defined]

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", savefig)


@pytest.fixture
def out(workspace: Path):
    """A place for results with a space in its name; gone afterwards."""
    place = workspace / "out put"
    yield place
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)


def into(verb: str, out: Path) -> str:
    return f"{verb} {GOOD[verb]} --out '{out}'"


def unfinished(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if TEMPORARY in path.name]


def assert_true_to_its_manifest(folder: Path, status: str) -> None:
    """No unfinished file, and what is on record is there and whole; when done, nothing else is there."""
    assert not unfinished(folder)
    manifest = read_manifest(folder)
    assert manifest.status == status
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    beside = there - {"manifest.json", "log.txt", ".lock"} - set(manifest.files)
    assert len(beside) <= (status != "done")  # the end may come between a file and its record
    for name, record in manifest.files.items():
        assert record_of(folder / name) == record


SECOND_FILE = 7
"""The manifest, a file, the manifest again, a file: each is flushed, and then its folder."""


def at_flush(number: int, act: Callable[[], None]) -> Callable[[int], None]:
    """Return what stands for fsync and acts when it is called for the ``number``-th time."""
    count = 0

    def fsync(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count == number:
            act()

    return fsync


def disk_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


FULL_FOLDERS = ("foreign", "probes/4")
PLACES = {
    "a file": ("runs.csv", "cannot write runs.csv: a file stands where a folder is needed."),
    "below a file": ("runs.csv/x", "cannot write runs.csv/x: a file stands where a folder is needed."),
    "a device": ("/dev/null", "cannot write /dev/null: a file stands where a folder is needed."),
    "no permission": ("/proc/1/x", "cannot write /proc/1/x: "),  # root is refused there too
    "a folder with other things": (
        "foreign",
        "foreign is not empty and not a run folder (it holds thesis.tex).\nChoose another --out",
    ),
    "another verb's run": ("probes/4", "probes/4 holds a"),
}


CASES = [
    pytest.param(verb, place, said, id=f"{verb} - {name}")
    for name, (place, said) in PLACES.items()
    for verb in [*RUNS, "reproduce"]
]


@pytest.mark.parametrize(("verb", "place", "said"), CASES)
def test_places_that_cannot_be_written(verb: str, place: str, said: str, command, workspace: Path) -> None:
    before = record_of(workspace / "runs.csv"), (workspace / "foreign" / "thesis.tex").read_text()
    answer = command(f"{verb} {GOOD[verb]} --out {place}")
    assert answer.code == (2 if place in FULL_FOLDERS else 3)
    assert said in answer.error
    assert answer.out == ""
    assert (record_of(workspace / "runs.csv"), (workspace / "foreign" / "thesis.tex").read_text()) == before
    assert os.listdir(workspace / "foreign") == ["thesis.tex"]
    assert read_manifest(workspace / "probes" / "4").status == "done"


ACCIDENTS = {
    "full disk": (disk_full, 3, "failed", "no space left on the device.\nFree some space and run the same"),
    "SIGTERM": (
        lambda: os.kill(os.getpid(), signal.SIGTERM),
        130,
        "interrupted",
        "keeps what was finished: the same command goes on",
    ),
    "Ctrl-C": (
        lambda: os.kill(os.getpid(), signal.SIGINT),
        130,
        "interrupted",
        "keeps what was finished: the same command goes on",
    ),
}


@pytest.mark.parametrize("verb", RUNS)
@pytest.mark.parametrize("accident", ACCIDENTS)
def test_an_end_in_the_middle_keeps_what_is_whole_and_the_same_command_goes_on(
    verb: str, accident: str, command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act, code, status, said = ACCIDENTS[accident]
    if accident == "Ctrl-C":  # a shell in the background lets its children ignore it
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", at_flush(SECOND_FILE, act))
        answer = command(into(verb, out))
    if accident == "Ctrl-C":
        signal.signal(signal.SIGINT, before)
    assert answer.code == code, answer.err
    assert said in answer.error
    assert answer.out == ""
    assert_true_to_its_manifest(out, status)
    assert "Traceback" not in (read_manifest(out).error or "")
    again = command(into(verb, out))
    assert again.code == 0, again.err
    assert_true_to_its_manifest(out, "done")
    kept = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    once_more = command(into(verb, out))
    assert (once_more.code, once_more.out) == (0, again.out)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == kept


@pytest.mark.parametrize("verb", RUNS)
def test_a_full_disk_from_the_first_file_on_leaves_nothing(
    verb: str, command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files.os, "fsync", lambda descriptor: disk_full())
    answer = command(into(verb, out))
    assert answer.code == 3
    assert "no space left on the device" in answer.error
    assert [path for path in out.rglob("*") if path.name != ".lock"] == []


@pytest.mark.parametrize("verb", RUNS)
def test_a_folder_that_another_process_writes(verb: str, command, out: Path) -> None:
    out.mkdir()
    with locked(out):
        answer = command(into(verb, out))
    assert answer.code == 3
    assert f"{out} is being written by another process.\nWait for it to end" in answer.error
    assert [path.name for path in out.iterdir()] == [".lock"]


def test_an_experiment_that_meets_a_full_disk_is_a_failure_of_its_own(
    command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", at_flush(3, disk_full))
        answer = command(into("reproduce", out))
    assert answer.code == 3
    assert "no space left on the device" in answer.out
    assert_true_to_its_manifest(out / "appB3", "failed")
    assert command(into("reproduce", out)).code == 0
    assert_true_to_its_manifest(out / "appB3", "done")


def test_a_model_that_the_disk_has_no_room_for(command, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import PreTrainedModel

    def full(model: object, folder: Path, **options: object) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        disk_full()

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", full)
    answer = command(f"ablate {GOOD['ablate']} --save '{out}'")
    assert answer.code == 3
    assert f"cannot write {out}: no space left on the device." in answer.error
    assert not out.exists()
    assert not [name for name in os.listdir(out.parent) if name.startswith(f".{out.name}")]


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
RUN = "import sys; from depthlaw.cli import main; sys.exit(main(sys.argv[1:]))"


@FULL
@pytest.mark.parametrize("words", ["fit runs.csv --starts 64 --json", "reproduce appB3 --scale smoke"])
def test_a_full_disk_behind_stdout(words: str, workspace: Path, out: Path) -> None:
    place = ["--out", str(out)] if "reproduce" in words else []
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *words.split(), *place],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 3
    assert "depthlaw: cannot write standard output: no space left on the device.\n" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs limits of POSIX")
def test_a_limit_on_the_size_of_files_is_met_in_earnest(workspace: Path, out: Path, command) -> None:
    # -B: an import would write compiled modules, cut at the limit, and later processes stumble over them.
    words = [sys.executable, "-B", "-c", LIMITED + RUN]
    words += ["fit", "runs.csv", "--starts", "64", "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 3
    assert "the file would exceed the size limit (ulimit -f).\nRaise the limit" in done.stderr
    assert_true_to_its_manifest(out, "failed")
    assert command(into("fit", out)).code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_told_to_end_while_it_computes(
    number: int, workspace: Path, out: Path, command
) -> None:
    line = ["sensitivity", "runs.csv", "--vary", "delta", "--resamples", "30000", "--out", str(out)]
    # Under nohup SIGHUP is ignored, by heirs too, and rightly stays so.
    heeded = f"import signal; signal.signal({int(number)}, signal.SIG_DFL); "
    process = subprocess.Popen(
        [sys.executable, "-c", heeded + RUN, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for text in process.stderr:
        if text == "varying delta\n":
            break
    process.send_signal(number)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert said == "depthlaw: interrupted; nothing is kept.\n"
    assert_true_to_its_manifest(out, "interrupted")


def test_two_processes_with_one_folder_never_mix(workspace: Path, out: Path) -> None:
    words = [sys.executable, "-c", RUN, "fit", "runs.csv", "--starts", "64", "--json", "--out", str(out)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(words, **options) for _ in range(2)]
    answers = [(*process.communicate(timeout=120), process.returncode) for process in both]
    assert 0 in [code for _, _, code in answers]
    for printed, said, code in answers:
        if code == 0:
            assert json.loads(printed)["n_runs"] == 60
        else:
            assert code == 3
            assert "is being written by another process" in said
    assert_true_to_its_manifest(out, "done")
