"""Every kind of folder becomes a report; what is wrong with a run becomes a warning."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from depthlaw.data.store import open_run
from depthlaw.report.page.gather import gather
from depthlaw.report.page.html import report_html
from depthlaw.report.page.model import Report
from depthlaw.report.page.sentences import lead
from depthlaw.reproduce.registry import EXPERIMENTS

from .conftest import outcome_of

Keep = Callable[..., Path]


def troubles(report: Report) -> list[str]:
    return [f"{', '.join(w.about)} {w.message}" for w in report.warnings if w.kind == "trouble"]


def test_experiments_come_in_the_order_of_the_paper(tmp_path: Path, keep: Keep, run_of: Keep) -> None:
    for name in ("theory", "fig5", "fig2f"):
        keep(tmp_path, outcome_of(name))
    run_of(tmp_path / "a")
    report = gather(tmp_path)
    assert [(s.experiment, s.anchor) for s in report.experiments] == [
        ("fig2f", "fig2f"),
        ("fig5", "fig5"),
        ("theory", "theory"),
    ]
    assert [s.place for s in report.runs] == ["a"]
    assert {e.id for e in report.not_run} == {e.id for e in EXPERIMENTS} - {"theory", "fig5", "fig2f"}
    assert report.name == tmp_path.name
    assert troubles(report) == []


def test_a_single_folder(tmp_path: Path, keep: Keep, run_of: Keep) -> None:
    experiment = gather(keep(tmp_path))
    assert [s.place for s in experiment.sections] == ["."]
    assert [p.place for p in experiment.sections[0].pictures] == ["fig2f.svg"]
    report = gather(run_of(tmp_path / "mine"))
    (section,) = report.sections
    assert (section.title, section.text, report.not_run) == ("mine", "loss = 1", ())


def test_two_scales_side_by_side(tmp_path: Path, keep: Keep) -> None:
    for scale in ("smoke", "paper"):
        keep(tmp_path / scale, scale=scale)
    report = gather(tmp_path)
    assert report.scales == ("paper", "smoke")
    assert len({s.anchor for s in report.sections}) == 2


def test_tables_go_with_the_figures_that_draw_them(tmp_path: Path, keep: Keep, run_of: Keep) -> None:
    keep(tmp_path)
    run_of(tmp_path / "z", figures=("parts", "residuals", "own"))
    experiment, run = gather(tmp_path).sections
    assert [(p.name, [t.name for t in p.data]) for p in experiment.pictures] == [("fig2f", ["curve.parquet"])]
    assert [(t.name, bool(t.withheld)) for t in experiment.tables] == [("secret.parquet", True)]
    assert [(p.name, [t.name for t in p.data]) for p in run.pictures] == [
        ("parts", ["parts_depth.parquet"]),
        ("residuals", ["rows.parquet"]),
        ("own", []),
    ]
    assert run.pictures[1].data[0].withheld  # rows of the user's table
    assert not run.pictures[0].data[0].withheld
    assert run.pictures[2].caption == "The figure own of depthlaw fit."
    assert run.pictures[0].data[0].place == "z/parts_depth.parquet"


def test_notices_stand_once_with_all_that_say_them(tmp_path: Path, keep: Keep) -> None:
    keep(tmp_path, outcome_of("fig2f"))
    keep(tmp_path, outcome_of("appB3"))
    (note,) = gather(tmp_path).warnings
    assert (note.kind, note.about, note.message) == ("note", ("fig2f", "appB3"), "Many losses are equal.")


def stop_in(folder: Path, error: BaseException) -> None:
    with suppress(type(error)), open_run(folder, verb="fit", config={}) as run:
        run.write_text("fit.txt", "so far\n")
        raise error


def left_running(folder: Path) -> None:
    stop_in(folder, ValueError("x"))
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace('"failed"', '"running"'))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (left_running, "bad is not finished: it is still running, or was killed"),
        (
            lambda folder: stop_in(folder, ValueError("no <b>luck</b>")),
            "bad failed: ValueError: no <b>luck</b>",
        ),
        (lambda folder: stop_in(folder, KeyboardInterrupt()), "bad was interrupted"),
    ],
)
def test_runs_that_did_not_end_well(
    tmp_path: Path, run_of: Keep, spoil: Callable[[Path], None], said: str
) -> None:
    run_of(tmp_path / "good")
    spoil(tmp_path / "bad")
    report = gather(tmp_path)
    (trouble,) = troubles(report)
    assert trouble.startswith(said)
    assert [s.text for s in report.sections] == ["so far", "loss = 1"]
    assert b"<b>luck" not in report_html(report)


def write(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def edit(name: str, key: str, value: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        document = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**document, key: value}))

    return change


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (write("manifest.json", b"{"), "is damaged"),
        (write("manifest.json", b"[]"), "is damaged"),
        (edit("manifest.json", "schema", 99), "manifest.json has schema 99"),
        (remove("fit.txt"), "bad fit.txt is missing."),
        (write("fit.txt", b"\xff\xfe"), "fit.txt is not as the run wrote it"),
        (remove("parts.svg"), "bad parts.svg is missing."),
        (write("parts.svg", b"<svg"), "the figure parts.svg cannot be shown: it is no XML"),
        (remove("rows.parquet"), "bad rows.parquet is missing."),
        (write("rows.parquet", b"PAR1"), "the table rows.parquet cannot be read"),
        (edit("manifest.json", "files", {"../../x.svg": {"sha256": "", "size": 0}}), "not a name for a file"),
    ],
)
def test_damaged_runs(tmp_path: Path, run_of: Keep, spoil: Callable[[Path], object], said: str) -> None:
    run_of(tmp_path / "good")
    spoil(run_of(tmp_path / "bad"))
    report = gather(tmp_path)
    assert any(trouble.startswith("bad ") and said in trouble for trouble in troubles(report))
    assert report.sections[-1].place == "good"
    assert str(tmp_path) not in report_html(report).decode()


@pytest.mark.parametrize(
    "spoil",
    [
        remove("outcome.json"),
        write("outcome.json", b"{}"),
        write("outcome.json", b"\x00"),
        remove("fig2f.svg"),
        remove("curve.parquet"),
        edit("outcome.json", "schema", 1),
        edit("outcome.json", "statements", 5),
        edit("outcome.json", "title", ["x"]),
        edit("outcome.json", "comparisons", [{"quantity": "x"}]),
        edit("outcome.json", "comparisons", [{**vars(outcome_of().comparisons[0]), "ours": "many"}]),
        edit("outcome.json", "corrections", [{"defect": 1, "reference": 1.0, "corrected": 1.0}]),
        edit("outcome.json", "warnings", [1]),
        edit("outcome.json", "tables", [{"name": "../x", "redistribute": True, "columns": []}]),
    ],
)
def test_a_damaged_outcome_is_a_claim_that_failed(
    tmp_path: Path, keep: Keep, spoil: Callable[[Path], object]
) -> None:
    keep(tmp_path, outcome_of("appB3"))
    spoil(keep(tmp_path))
    report = gather(tmp_path)
    assert any(trouble.startswith("fig2f ") for trouble in troubles(report))
    assert report.sections[0].outcome is None
    assert report.sections[0].problem
    assert report.sections[1].outcome is not None
    page = report_html(report).decode()
    assert "No result: " in page
    assert str(tmp_path) not in page


def test_files_that_a_page_does_not_show_are_looked_at_too(tmp_path: Path, run_of: Keep) -> None:
    folder = run_of(tmp_path / "law")
    with open_run(folder, verb="fit", config={"seed": 0}) as run:
        for name in ("fit.json", "a.png", "b.png", "c.png"):
            run.write_bytes(name, b"alpha 1.06")
    assert troubles(gather(folder)) == []
    (folder / "fit.json").write_bytes(b"alpha 2.06")
    (folder / "a.png").unlink()
    assert troubles(gather(folder)) == ["law a.png is missing.", "law fit.json is not as the run wrote it."]
    (folder / "b.png").unlink()
    (folder / "c.png").write_bytes(b"")
    assert troubles(gather(tmp_path)) == [
        "law a.png, b.png are missing.",
        "law c.png, fit.json are not as the run wrote them.",
    ]


def test_a_run_that_is_being_written_may_be_ahead_of_its_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "law"
    left_running(folder)
    (folder / "fit.txt").write_text("more")
    (trouble,) = troubles(gather(folder))
    assert "is not finished" in trouble


def test_a_figure_that_is_no_svg_leaves_the_rest(tmp_path: Path, keep: Keep) -> None:
    folder = keep(tmp_path)
    (folder / "fig2f.svg").write_bytes(b"cut")
    report = gather(tmp_path)
    assert report.sections[0].outcome is not None
    assert report.sections[0].pictures == ()
    assert [t.name for t in report.sections[0].tables] == ["curve.parquet", "secret.parquet"]
    assert [trouble.split(":")[0] for trouble in troubles(report)] == [
        "fig2f the figure fig2f.svg cannot be shown",
        "fig2f fig2f.svg is not as the run wrote it.",
    ]


def test_only_damaged_folders_still_make_a_page(tmp_path: Path, run_of: Keep) -> None:
    (run_of(tmp_path / "bad") / "manifest.json").write_bytes(b"{")
    report = gather(tmp_path)
    assert report.sections == ()
    assert len(troubles(report)) == 1
    assert b"is damaged" in report_html(report)
    assert lead(report) == ("No run here can be read.", "1 folder needs a look: see the warnings.")
