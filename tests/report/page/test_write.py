"""Three files, whole or not at all, and none of another program lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from depthlaw.data.store import open_run
from depthlaw.errors import OutputError
from depthlaw.report.page.gather import gather
from depthlaw.report.page.write import write_report

Keep = Callable[..., Path]


def test_three_files_that_may_be_written_again(tmp_path: Path, run_of: Keep) -> None:
    folder = run_of(tmp_path / "a")
    before = set(folder.iterdir())
    page = write_report(gather(folder), folder)
    assert page == folder / "report.html"
    new = set(folder.iterdir()) - before
    assert {path.name for path in new} == {"report.html", "report.json", "report.md"}
    first = {path: path.read_bytes() for path in new}
    write_report(gather(folder), folder)
    assert {path: path.read_bytes() for path in new} == first
    with open_run(folder, verb="fit", config={"seed": 0}) as run:  # the run does not mind
        assert run.complete


@pytest.mark.parametrize("name", ["report.html", "report.json", "report.md"])
def test_a_file_of_another_program_is_kept(tmp_path: Path, run_of: Keep, name: str) -> None:
    report = gather(run_of(tmp_path / "a"))
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(OutputError, match=name) as caught:
        write_report(report, out)
    assert "--out" in (caught.value.hint or "")
    assert {path.name: path.read_text() for path in out.iterdir()} == {name: "mine"}
    (out / name).write_text("")  # an empty file is nobody's
    assert write_report(report, out).stat().st_size > 1000


def test_where_nothing_can_be_written(tmp_path: Path, run_of: Keep) -> None:
    report = gather(run_of(tmp_path / "a"))
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="cannot write"):
            write_report(report, out)
    assert (tmp_path / "file").read_text() == "x"
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    with pytest.raises(OutputError, match="cannot write"):
        write_report(report, tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path, run_of: Keep) -> None:
    folder = run_of(tmp_path / "a")
    folder.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="permission denied"):
            write_report(gather(folder), folder)
    finally:
        folder.chmod(0o700)
