"""The paper's page says what the outcomes of a run say, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from generate_paper import LARGEST, MARK, NoPage, escaped, generate, introduce, main

from depthlaw.data.store import open_run
from depthlaw.reproduce.keeping import write_outcome
from depthlaw.reproduce.outcome import Comparison, Correction, Outcome, OutcomeFigure, Verdict

DEFECT = Correction("Angles below *0.088* cannot be seen.", 0.023, 0.05, "rad")
MADE = Outcome(
    id="fig2f",
    title="Loss against depth",
    input="3 runs of m_1 * 2",
    comparisons=(
        Comparison("alpha_depth", 1.2, 0.3, 1.33, 0.29, 0.41, 1, Verdict.PASS, "one | two"),
        Comparison("floor", 1.75, None, None, None, None, None, Verdict.NOT_COMPARABLE),
    ),
    corrections=(DEFECT,),
    statements=("depth exponent 1.33 [0.93, 1.74].",),
    figures={"fig2f": OutcomeFigure({"fig2f.svg": b"<svg/>", "fig2f.png": b"."}, "What is <left>.")},
    notices=("few rows",),
)
SKIPPED = Outcome("theory", "How errors add up", "", skipped="torch is not installed")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "figures" / "paper").mkdir(parents=True)
    (folder / "figures" / "paper" / "old.svg").write_text("<svg/>", encoding="utf-8")
    (folder / "paper_intro.md").write_text("# Introduction\n\nBy hand.\n", encoding="utf-8")
    return folder


def kept(run: Path, *outcomes: Outcome, scale: str = "smoke") -> Path:
    for outcome in outcomes:
        config = {"experiment": outcome.id, "scale": scale}
        with open_run(run / outcome.id, verb="reproduce", config=config) as folder:
            write_outcome(folder, outcome)
    return run


def made(docs: Path, run: Path) -> str:
    generate(run, docs)
    return (docs / "paper.md").read_text(encoding="utf-8")


def cells(page: str, first: str) -> list[str]:
    """The cells of the row that begins with a word."""
    (row,) = re.findall(rf"^\| {re.escape(first)} +\|(.*)\|$", page, flags=re.MULTILINE)
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)]


def test_every_number_of_an_outcome_is_on_the_page(tmp_path: Path, docs: Path) -> None:
    page = made(docs, kept(tmp_path / "run", SKIPPED, MADE))
    assert page.startswith("# Introduction\n\nBy hand.\n\n" + MARK)
    assert cells(page, "`alpha_depth`") == ["1.20 ± 0.30", "1.33 ± 0.29", "+0.41 s.e.", "pass", "one \\| two"]
    assert cells(page, "`floor`") == ["1.750", "—", "—", "not comparable", ""]
    assert cells(page, escaped(DEFECT.defect)) == ["0.02300 rad", "0.05000 rad"]
    assert cells(page, "[fig2f](#fig2f)") == ["Loss against depth", "pass", "1 of 1 agree"]
    assert "\n- depth exponent 1.33 \\[0.93, 1.74\\].\n- Note: few rows\n" in page
    assert "![fig2f](figures/paper/fig2f.svg)\n\nWhat is \\<left>.\n" in page
    assert "Input: 3 runs of m\\_1 \\* 2.\n" in page
    assert page.endswith("## theory\n\n**How errors add up.**\nSkipped: torch is not installed\n")


def test_the_page_says_how_it_was_made_and_not_when(tmp_path: Path, docs: Path) -> None:
    page = made(docs, kept(tmp_path / "run", MADE))
    assert "Made by `depthlaw reproduce --scale smoke`.\nVersions: python 3." in page
    assert not re.search(r"20\d\d-\d\d-\d\d", page)


def test_figures_are_those_of_the_run(tmp_path: Path, docs: Path) -> None:
    made(docs, kept(tmp_path / "run", MADE))
    assert [path.name for path in (docs / "figures" / "paper").iterdir()] == ["fig2f.svg"]


def test_the_introduction_can_change_without_a_run(tmp_path: Path, docs: Path) -> None:
    page = made(docs, kept(tmp_path / "run", MADE))
    (docs / "paper_intro.md").write_text("# Another\n", encoding="utf-8")
    introduce(docs)
    assert (docs / "paper.md").read_text(encoding="utf-8") == "# Another\n\n" + page[page.index(MARK) :]


def test_what_makes_no_page(tmp_path: Path, docs: Path) -> None:
    large = OutcomeFigure({"fig2f.svg": b" " * (LARGEST + 1)}, "Large.")
    with pytest.raises(NoPage, match=r"3\.0 MB"):
        generate(kept(tmp_path / "large", replace(MADE, figures={"fig2f": large})), docs)
    with pytest.raises(NoPage, match=r"failed: fig2f \(no memory\)"):
        generate(kept(tmp_path / "failed", SKIPPED, replace(MADE, failed="no memory")), docs)
    mixed = kept(tmp_path / "mixed", MADE)
    with pytest.raises(NoPage, match="mixes scales: small, smoke"):
        generate(kept(mixed, SKIPPED, scale="small"), docs)
    assert not (docs / "paper.md").exists()


def test_an_empty_folder_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
