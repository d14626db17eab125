from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from depthlaw.data.config import LOCAL
from depthlaw.data.manifest import read_manifest
from depthlaw.data.store import open_run
from depthlaw.errors import ConfigError, ExitCode, FitError, OutputError


@dataclass(frozen=True)
class Settings:
    seed: int = 0
    floor: float | None = None
    table: Path | None = None
    threads: int = field(default=1, metadata=LOCAL)


def opened(out: Path, config: Any = None, **options: Any) -> Any:
    return open_run(out, verb="fit", config=config or Settings(), **options)


def ended_by(error: BaseException, out: Path) -> None:
    """Write one file and end with ``error``."""
    with pytest.raises(type(error)), opened(out) as run:  # noqa: PT012
        run.write_text("one.txt", "1")
        raise error


def files(folder: Path) -> dict[str, bytes]:
    """Return the results in a folder: everything but what is about time."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", "log.txt", ".lock")
    }


def test_a_run_is_a_folder_that_says_what_it_is(tmp_path: Path) -> None:
    out = tmp_path / "a" / "run"
    table = pa.table({"width": [64, 128], "loss": [3.5, 3.25]})
    with opened(out, Settings(seed=3), units={"width": "1"}, identity={"data": "ab12"}, device="cpu") as run:
        assert read_manifest(out).status == "running"
        assert not run.done("fit.json")
        run.write_json("fit.json", {"alpha": float("nan")})
        assert run.done("fit.json")
        run.write_table("parts.parquet", table, units={"loss": "nat"})
        run.write_text("figures/parts.svg", "<svg/>")
        run.write_bytes("weights.safetensors", b"\0")
        run.log("four files")
    manifest = read_manifest(out)
    assert manifest.status == "done"
    assert (manifest.schema, manifest.verb, manifest.seed, manifest.device) == (1, "fit", 3, "cpu")
    assert manifest.units == {"width": "1", "loss": "nat"}
    assert list(manifest.files) == ["figures/parts.svg", "fit.json", "parts.parquet", "weights.safetensors"]
    assert manifest.files["weights.safetensors"].size == 1
    assert manifest.versions["pyarrow"] == pa.__version__
    assert manifest.identity["data"] == "ab12"
    assert (manifest.finished or "") >= manifest.started >= manifest.created
    assert json.loads((out / "fit.json").read_bytes()) == {"alpha": None}
    assert pq.read_table(out / "parts.parquet").equals(table)
    assert (out / "log.txt").read_text(encoding="utf-8").endswith(" four files\n")
    assert set(files(out)) == set(manifest.files)


def test_the_id_is_of_what_changes_results(tmp_path: Path) -> None:
    def run_id(name: str, config: Any, **options: Any) -> str:
        with opened(tmp_path / name, config, **options) as run:
            return str(run.manifest.id)

    first = run_id("a", Settings(), device="cpu")
    assert run_id("b", Settings(table=Path("elsewhere"), threads=8), device="cuda") == first
    others = [
        run_id("c", Settings(seed=1)),
        run_id("d", Settings(floor=float("nan"))),
        run_id("e", Settings(), identity={"data": "ab12"}),
        run_id("f", Settings(), dtype="bfloat16"),
        run_id("g", Settings(), model_commit="ab12"),
    ]
    assert len({first, *others}) == 6


def test_the_same_run_is_continued(tmp_path: Path) -> None:
    ended_by(FitError("no depth."), tmp_path)
    before = read_manifest(tmp_path)
    assert (before.status, before.error) == ("failed", "FitError: no depth.")
    with opened(tmp_path) as run:
        assert not run.complete
        assert run.done("one.txt")
        assert run.manifest.created == before.created
        run.write_text("two.txt", "2")
    after = read_manifest(tmp_path)
    assert (after.status, after.error) == ("done", None)
    assert set(after.files) == {"one.txt", "two.txt"}


def test_ctrl_c_is_an_interruption(tmp_path: Path) -> None:
    ended_by(KeyboardInterrupt(), tmp_path)
    manifest = read_manifest(tmp_path)
    assert (manifest.status, manifest.error) == ("interrupted", "KeyboardInterrupt")
    assert set(manifest.files) == {"one.txt"}


def test_a_done_run_is_left_untouched_until_something_is_written(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.write_json("fit.json", {"alpha": 1})
    before = (tmp_path / "manifest.json").read_bytes()
    with opened(tmp_path) as run:
        assert run.complete
        assert run.read_json("fit.json") == {"alpha": 1}
    assert (tmp_path / "manifest.json").read_bytes() == before
    with opened(tmp_path) as run:
        run.write_text("more.txt", "")
        assert not run.complete
        assert read_manifest(tmp_path).status == "running"
    assert read_manifest(tmp_path).status == "done"


def test_a_file_that_changed_or_went_is_not_done(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        for name in ("kept", "changed", "gone"):
            run.write_text(name, name)
    (tmp_path / "changed").write_text("CHANGED", encoding="utf-8")
    (tmp_path / "gone").unlink()
    with opened(tmp_path) as run:
        assert not run.complete
        assert [run.done(name) for name in ("kept", "changed", "gone")] == [True, False, False]


def test_another_configuration_is_refused_with_the_differing_keys(tmp_path: Path) -> None:
    with opened(tmp_path, Settings(seed=1)) as run:
        run.write_text("fit.json", "1")
    before = files(tmp_path)
    with pytest.raises(ConfigError) as caught, opened(tmp_path, Settings(seed=2, floor=0.5)):
        pass
    assert caught.value.exit_code == ExitCode.USAGE
    assert str(caught.value) == (
        f"{tmp_path} holds a run with other settings: floor null → 0.5, seed 1 → 2.\n"
        "Choose another --out, or start over in this one with --no-resume."
    )
    assert files(tmp_path) == before


def refused(folder: Path, **what: Any) -> str:
    with pytest.raises(ConfigError) as caught, open_run(folder, **what):
        pass
    return caught.value.message


def test_another_run_is_named_by_its_verb_then_its_input_then_its_settings(tmp_path: Path) -> None:
    with open_run(tmp_path, verb="fit", config={"seed": 1}, identity={"data": "e1320508cc"}):
        pass
    said = refused(tmp_path, verb="compare", config={"forms": [], "seed": 2}, identity={"data": "ab705c46"})
    assert said == f"{tmp_path} holds a run of depthlaw fit."
    said = refused(tmp_path, verb="fit", config={"seed": 2}, identity={"data": "ab705c46"})
    assert said == f"{tmp_path} holds another run: the table changed, seed 1 → 2."
    said = refused(tmp_path, verb="fit", config={"seed": 1}, identity={"data": "ab705c46"})
    assert said == f"{tmp_path} holds another run: the table changed."


def test_starting_over_deletes_what_the_run_recorded_and_nothing_else(tmp_path: Path) -> None:
    with opened(tmp_path, Settings(seed=1)) as run:
        run.write_text("figures/one.svg", "1")
        run.log("first")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with opened(tmp_path, Settings(seed=2), resume=False) as run:
        assert not run.done("figures/one.svg")
        run.write_text("two.svg", "2")
    assert files(tmp_path) == {"notes.txt": b"mine", "two.svg": b"2"}
    assert not (tmp_path / "log.txt").exists()


def test_a_folder_of_something_else_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine", encoding="utf-8")
    for resume in (True, False):
        with pytest.raises(ConfigError, match=r"not a run folder.*thesis"), opened(tmp_path, resume=resume):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is damaged: Expecting value"),
        ('{"schema": 1', "is damaged: Expecting"),
        ("[]", "is damaged: "),
        ('{"schema": 1}', "is damaged: manifest.json: verb: missing"),
        ('{"schema": 99}', "has schema 99; this version knows up to 1"),
    ],
)
def test_a_damaged_manifest_is_said_to_be(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="manifest") as caught, opened(tmp_path):
        pass
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 2


def test_a_manifest_cannot_reach_out_of_its_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with opened(out) as run:
        run.write_text("x", "1")
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    text = (out / "manifest.json").read_text(encoding="utf-8").replace('"x"', '"../precious"')
    (out / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="damaged"), opened(out, resume=False):
        pass
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize("name", ["../x", "/x", "", "a/../../x", "manifest.json", "log.txt", ".lock"])
def test_names_stay_within_the_folder_and_off_the_stores_own_files(name: str, tmp_path: Path) -> None:
    with opened(tmp_path / "run") as run, pytest.raises(ValueError, match="not a name"):
        run.write_text(name, "x")


def test_every_column_has_a_unit_and_only_one(tmp_path: Path) -> None:
    table = pa.table({"loss": [1.0], "step": [1]})
    with opened(tmp_path, units={"loss": "nat"}) as run:
        with pytest.raises(ValueError, match="no unit given for step"):
            run.write_table("t.parquet", table)
        with pytest.raises(ValueError, match="another unit before for loss"):
            run.write_table("t.parquet", table, units={"loss": "bit", "step": "1"})


@pytest.mark.parametrize("writer", ["bytes", "table"])
def test_a_full_disk_leaves_what_was_finished(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def work() -> None:
        with opened(tmp_path, units={"x": "1"}) as run:
            run.write_text("one.txt", "1")
            monkeypatch.setattr("depthlaw.data.files.os.fsync", full)
            if writer == "bytes":
                run.write_bytes("two.txt", b"2")
            else:
                run.write_table("two.parquet", pa.table({"x": [1]}))

    with pytest.raises(OutputError, match="no space left") as caught:
        work()
    assert caught.value.exit_code == ExitCode.FAILED
    assert files(tmp_path) == {"one.txt": b"1"}
    monkeypatch.undo()
    # The manifest could not be written either, so it still says what it said.
    assert read_manifest(tmp_path).status == "running"
    with opened(tmp_path) as run:
        assert run.done("one.txt")


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("depthlaw.data.files.os.open", denied)
    with pytest.raises(OutputError, match="permission denied"), opened(tmp_path):
        pass
    monkeypatch.undo()
    with pytest.raises(OutputError, match="cannot write"), opened(Path("/proc/depthlaw")):
        pass


def test_a_file_in_the_folders_place(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"theirs")
    for out in (tmp_path / "run", tmp_path / "run" / "below"):
        with pytest.raises(OutputError, match="a file stands where a folder is needed"), opened(out):
            pass


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.write_text("one.txt", "1")
        with pytest.raises(OutputError, match="another process"), opened(tmp_path, Settings(seed=9)):
            pass
    assert read_manifest(tmp_path).status == "done"


WORK = """
    import os, signal, sys
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    from depthlaw.data.store import open_run

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    out, moment = sys.argv[1:]
    with open_run(out, verb="fit", config={"seed": 0}, units={"x": "1"}) as run:
        print(*(name for name in ("a.json", "b.parquet", "c.bin") if run.done(name)))
        values = np.random.default_rng(0).normal(size=1000)
        if not run.done("a.json"):
            run.write_json("a.json", {"mean": values.mean()})
        if moment == "between files":
            die()
        if not run.done("b.parquet"):
            run.write_table("b.parquet", pa.table({"x": values}))
        with run.writer("c.bin") as file:
            file.write(values.tobytes())
            if moment == "in a file":
                file.flush()
                die()
        if moment == "before the end":
            die()
"""


@pytest.mark.parametrize(
    ("moment", "finished"),
    [
        ("between files", "a.json"),
        ("in a file", "a.json b.parquet"),
        ("before the end", "a.json b.parquet c.bin"),
    ],
)
def test_a_killed_run_continues_to_the_same_bytes(moment: str, finished: str, tmp_path: Path) -> None:
    def work(out: Path, moment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", textwrap.dedent(WORK), str(out), moment]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert work(tmp_path / "whole", "never").returncode == 0
    killed = tmp_path / "killed"
    assert work(killed, moment).returncode == -signal.SIGKILL
    assert read_manifest(killed).status == "running"
    leftovers = list(killed.glob(".*tmp"))
    assert bool(leftovers) == (moment == "in a file")

    again = work(killed, "never")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == f"{finished}\n"
    assert not list(killed.glob(".*tmp"))
    assert files(killed) == files(tmp_path / "whole")
    assert read_manifest(killed).status == "done"
    assert read_manifest(killed).files == read_manifest(tmp_path / "whole").files
