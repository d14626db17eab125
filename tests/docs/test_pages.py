"""The pages say what is so: links lead somewhere, lists are complete, what is generated is up to date."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import generate_cli
import generate_paper
import pytest
from console import PAGES, ROOT

import depthlaw
from depthlaw.cli.app import VERBS
from depthlaw.data.columns import ALIASES
from depthlaw.errors import ExitCode
from depthlaw.probe.columns import QUANTITIES


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"https?:", target):
            assert (path.parent / target).exists(), target


def test_command_line_pages_are_what_help_says() -> None:
    current = generate_cli.pages()
    committed = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/cli").glob("*.md")}
    assert committed == current, "run: python docs/generate_cli.py"


def test_pages_cover_verbs_aliases_and_exit_codes() -> None:
    changes = page("CHANGELOG.md")
    assert not [verb for verb in VERBS if f"`depthlaw {verb}" not in changes]
    tables = page("docs/tables.md")
    assert not [name for names in ALIASES.values() for name in names if f"`{name}`" not in tables]
    index = page("docs/cli/index.md")
    assert not [code for code in ExitCode if f"| {code.value} |" not in index]


def test_pages_explain_what_is_measured_and_every_notice_about_a_table() -> None:
    probe = page("docs/probe.md")
    assert not [name for name in QUANTITIES if not name.startswith("paper_") and f"`{name}`" not in probe]
    codes = set()
    for path in [*(ROOT / "src/depthlaw/data").glob("*.py"), *(ROOT / "src/depthlaw/laws").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Notice":
                codes.add(ast.literal_eval(node.args[0]))
    explained = page("docs/tables.md") + page("docs/fit.md") + probe
    assert codes
    assert not [code for code in codes if f"`{code}`" not in explained]


def test_footguns_name_tests_that_exist() -> None:
    named = re.findall(r"`([a-z/_]+\.py)::(test_\w+)`", page("docs/footguns.md"))
    entries = re.findall(r"^: Tests: ", page("docs/footguns.md"), flags=re.MULTILINE)
    assert len(entries) == len(re.findall(r"^\*\*", page("docs/footguns.md"), flags=re.MULTILINE))
    for file, test in named:
        assert re.search(rf"def {test}\b", page(f"tests/{file}")), f"{file}::{test}"


def test_the_papers_page_begins_with_its_introduction() -> None:
    begin = generate_paper.introduction() + "\n" + generate_paper.MARK
    assert page("docs/paper.md").startswith(begin), "run: python docs/generate_paper.py"


def test_figures_of_the_papers_page_are_those_of_its_run() -> None:
    shown = re.findall(r"\(figures/paper/(.+?)\)", page("docs/paper.md"))
    files = {path.name: path.stat().st_size for path in (ROOT / "docs/figures/paper").iterdir()}
    assert sorted(shown) == sorted(files)
    assert sum(files.values()) <= generate_paper.LARGEST


def test_the_python_interface_is_documented() -> None:
    api = page("docs/api.md")
    assert not [n for n in depthlaw.__all__ if not n.startswith("_") and f":: depthlaw.{n}\n" not in api]


def test_one_version() -> None:
    assert f"version: {depthlaw.__version__}\n" in page("CITATION.cff")


def test_nothing_names_a_machine() -> None:
    private = re.compile(r"/(work|home|root|Users)/|\.\./shared")
    files = [*PAGES, *(ROOT / "docs").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    files += [ROOT / "Makefile", ROOT / "CHANGELOG.md", ROOT / "CITATION.cff", ROOT / "constraints.txt"]
    assert not [path for path in files if private.search(path.read_text(encoding="utf-8"))]
