"""The pages say what is so: commands print what is shown, links lead somewhere, lists are complete."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

import depthlaw
from depthlaw.cli.app import VERBS, build_app
from depthlaw.data.columns import ALIASES
from depthlaw.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]


def from_docs(name: str) -> ModuleType:
    """Load a script of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


console = from_docs("console")
PAGES: list[Path] = console.PAGES
BLOCKS = console.blocks()


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", [b for b in BLOCKS if not b.needs_data], ids=lambda b: b.name)
def test_commands_print_what_the_page_shows(block: console.Block) -> None:
    with console.workplace(None):
        for step, printed in console.outputs(block):
            assert console.agrees(step.shown, printed), f"$ {step.command}\n{printed}"


@pytest.mark.data
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.needs_data], ids=lambda b: b.name)
def test_commands_on_real_tables_print_what_the_page_shows(block: console.Block, data_dir: Path) -> None:
    with console.workplace(data_dir.resolve()):
        for step, printed in console.outputs(block):
            assert console.agrees(step.shown, printed), f"$ {step.command}\n{printed}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_that_are_only_shown_are_real(path: Path) -> None:
    targets = set(re.findall(r"^(\w+):", page("Makefile"), flags=re.MULTILINE))
    for block in re.findall(
        r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["depthlaw"]:
                build_app().parse_args(words[1:])
            elif words[:1] == ["make"]:
                assert set(words[1:]) <= targets
            elif words[:1] == ["python"]:
                assert (ROOT / words[1]).is_file()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_sessions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"https?:", target):
            assert (path.parent / target).exists(), target


def test_command_line_pages_are_what_help_says() -> None:
    current = from_docs("generate_cli").pages()
    committed = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/cli").glob("*.md")}
    assert committed == current, "run: python docs/generate_cli.py"


def test_pages_cover_verbs_aliases_and_exit_codes() -> None:
    changes = page("CHANGELOG.md")
    assert not [verb for verb in VERBS if f"`depthlaw {verb}" not in changes]
    tables = page("docs/tables.md")
    assert not [name for names in ALIASES.values() for name in names if f"`{name}`" not in tables]
    index = page("docs/cli/index.md")
    assert not [code for code in ExitCode if f"| {code.value} |" not in index]


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
