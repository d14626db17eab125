"""The page: whole, self-contained, the same bytes, and harmless whatever the folders are called."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pytest

from depthlaw.data.store import open_run
from depthlaw.report.page import html, view
from depthlaw.report.page.gather import gather
from depthlaw.report.page.html import LIMIT, SIGNS, report_html
from depthlaw.report.page.typesetting import maths, printed, typeset
from depthlaw.reproduce.outcome import OutcomeFigure, Verdict

from .conftest import SVG, Parsed, outcome_of

Keep = Callable[..., Path]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def page_of(folder: Path) -> Parsed:
    return Parsed(report_html(gather(folder)))


@pytest.fixture
def both(tmp_path: Path, keep: Keep, run_of: Keep) -> Path:
    """A folder with an experiment and a run."""
    keep(tmp_path)
    run_of(tmp_path / "mine")
    return tmp_path


def test_everything_is_there(both: Path) -> None:
    page = page_of(both)
    for said in (
        "depth exponent αℓ",
        "1.20 ± 0.30",
        "+0.42 s.e.",
        "✓ pass",
        "What is left of the loss.",
        "The depth exponent αdepth is near one.",
        "It stops early.",
        "Many losses are equal.",
        "loss = 1",
        "secret.parquet is left out: its rows come from a source that states no licence",
        "rows.parquet is left out: it repeats rows of the table that was given",
        "depth (blocks); term (nats per token)",
        '"experiment": "fig2f"',
        "How errors of blocks add up",  # an experiment that was not run
    ):
        assert said in page.words, said
    downloads = {a["download"]: a["href"] or "" for a in page.all("a") if "download" in a}
    assert set(downloads) == {"curve.csv", "parts_depth.csv"}
    assert unquote(downloads["curve.csv"]).endswith(",depth,term\n4,0.5\n8,0.25\n16,0.125\n")
    drawn = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(drawn) == 2
    assert len([d for d in page.all("details") if "open" not in d]) == 3


def test_the_claim_table_comes_before_the_figures_and_warnings_before_it(both: Path) -> None:
    page = report_html(gather(both)).decode()
    marks = ["<h1>", 'class="lead"', 'id="warnings"', 'id="claims"', "<figure", 'id="environment"']
    assert sorted(marks, key=page.index) == marks


def test_names_and_references_within_the_page(both: Path) -> None:
    page = page_of(both)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for _, a in page.elements if (a.get("href") or "").startswith("#")]
    labels = [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    assert len(links) >= 8
    assert {link[1:] for link in links if link} | set(labels) <= set(ids)
    for svg in page.all("svg"):
        assert svg["role"] == "img"
        assert svg["aria-labelledby"] in ids


def test_nothing_is_fetched_and_nothing_runs(both: Path) -> None:
    page = page_of(both)
    assert not {tag for tag, _ in page.elements} & {"script", "iframe", "object", "embed", "form", "base"}
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href", "action"):
                assert re.match(r"#|data:", value or ""), (tag, name, value)
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert (policy or "").startswith("default-src 'none'")
    assert "script-src" not in (policy or "")
    (style,) = re.findall(r"<style>(.*?)</style>", report_html(gather(both)).decode(), re.DOTALL)
    assert "@import" not in style
    assert "url(" not in style


def test_hostile_words_are_only_words(tmp_path: Path, keep: Keep, run_of: Keep) -> None:
    folder = tmp_path / EVIL.replace("/", "∕")
    outcome = outcome_of(
        title=EVIL, input=EVIL, statements=(EVIL,), notices=(EVIL,), skipped="", failed="",
        figures={"f": OutcomeFigure({"f.svg": SVG}, EVIL, ("curve.parquet",))},
    )  # fmt: skip
    keep(folder, outcome)
    run_of(
        folder / "run",
        verb="fit",
        text=EVIL + "\x00\x1b[31m\n",
        figures=("</style><script>", "a\" onload='x"),
    )
    with (
        suppress(ValueError),
        open_run(folder / "x", verb=EVIL, config={"model": EVIL, EVIL: 1}, dtype=EVIL, device=EVIL) as run,
    ):
        run.write_text("a.txt", EVIL)
        raise ValueError(EVIL)
    page = page_of(folder)
    assert page.words.count("<script>alert(1)</script>") > 8
    assert not page.all("script") + page.all("img")
    assert not [a for _, a in page.elements for name in a if name.startswith("on")]
    assert len(page.all("style")) == 1
    assert "\x00" not in page.text
    assert "\x1b" not in page.text


def test_names_that_are_no_text(tmp_path: Path, run_of: Keep) -> None:
    run_of(tmp_path / "\udcff\udcfe")
    assert "depthlaw fit ??" in page_of(tmp_path).words


def test_the_same_folder_gives_the_same_bytes(both: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    first = report_html(gather(both))
    assert report_html(gather(both)) == first
    elsewhere = tmp_path_factory.mktemp("x") / both.name
    elsewhere.symlink_to(both)
    assert report_html(gather(elsewhere)) == first
    assert str(both.parent) not in first.decode()


def test_too_much_is_left_out_and_said(tmp_path: Path, run_of: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    big = SVG.replace(b"M 0 0", b"M 0 0 " + b"L 1 1 " * 100_000)  # 600 kB
    run_of(tmp_path, svg=big, figures=[f"figure{k}" for k in range(12)], rows=100_000, text="line\n" * 40_000)
    report = gather(tmp_path)
    whole = report_html(report)
    assert LIMIT - 700_000 < len(whole) < LIMIT
    page = Parsed(whole)
    assert 5 <= len(page.all("svg")) < 12
    assert page.words.count("The page has no room for this figure; it is in figure") == 12 - len(
        page.all("svg")
    )
    assert "28000 lines of text left out" in page.words
    assert re.search(r"parts_depth.csv \d+ rows, the first of 100000", page.words)
    monkeypatch.setattr(html, "LIMIT", 10_000)
    none = Parsed(report_html(report))
    assert none.all("svg") == []
    assert "The page has no room for the settings" in none.words
    assert "parts_depth.parquet is left out, for the page has no room for its 100000 rows" in none.words


def test_a_long_table_says_how_many_rows_are_missing(tmp_path: Path, run_of: Keep) -> None:
    run_of(tmp_path / "a", rows=100_000)
    page = page_of(tmp_path)
    found = re.search(r"parts_depth.csv (\d+) rows, the first of 100000: (\d+) are left out", page.words)
    assert found
    assert int(found[1]) + int(found[2]) == 100_000
    assert "the whole is in a/parts_depth.parquet" in page.words
    (link,) = [a["href"] for a in page.all("a") if a.get("download") == "parts_depth.csv"]
    assert view.MOST - 20 < len(link or "") <= view.MOST


def test_a_table_of_several_figures_is_in_the_page_once(tmp_path: Path, run_of: Keep) -> None:
    run_of(tmp_path, verb="probe", figures=("updates", "glance"), tables=("summary.parquet",))
    page = page_of(tmp_path)
    assert len([a for a in page.all("a") if "download" in a]) == 1
    assert "summary.csv is beside the first figure that draws it" in page.words


def test_every_verdict_has_a_sign() -> None:
    assert set(SIGNS) == {str(verdict) for verdict in Verdict} | {"not run"}
    assert len(set(SIGNS.values())) == len(SIGNS)


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("alpha_depth < 1", "α<sub>depth</sub> &lt; 1"),
        ("α_m, c_depth", "α<sub>m</sub>, c<sub>depth</sub>"),
        ("update_angle_tied = 0.8", "update angle tied = 0.8"),
        ("c_code num_tokens", "c_code num_tokens"),
        ("use --scale paper", 'use <code class="flag">--scale</code> paper'),
    ],
)
def test_symbols(text: str, markup: str) -> None:
    assert maths(text) == markup


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("-0.39", "−0.39"),
        ("3.03e-9", "3.03 × 10<sup>−9</sup>"),
        ("-2.00e12", "−2.00 × 10<sup>12</sup>"),
        ("—", "—"),
        ("a-b", "a-b"),
    ],
)
def test_numbers(text: str, markup: str) -> None:
    assert typeset(text) == markup


def test_printed_text_keeps_its_tables_and_wraps_its_sentences() -> None:
    text = "a  b\n-  -\n1  2\n\nnote: <x>"
    assert printed(text) == 'a  b\n-  -\n1  2\n\n<span class="prose">note: &lt;x&gt;\n</span>'
