"""The house rules that a linter does not know."""

from __future__ import annotations

import ast
import importlib.util
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from depthlaw.cli.app import VERBS
from depthlaw.errors import DepthlawError

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def calls(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of every call in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def found(pattern: str, paths: list[Path]) -> list[str]:
    """Return ``file:line name`` of every call whose dotted name matches."""
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in paths
        for line, name in calls(path)
        if re.fullmatch(pattern, name)
    ]


def descendants(cls: type[DepthlawError]) -> Iterator[type[DepthlawError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from descendants(child)


def test_files_are_read_in_one_sitting() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES + TESTS}
    assert not {str(path): count for path, count in lines.items() if count > 600}
    assert statistics.median(lines.values()) <= 200


def test_only_the_command_line_prints() -> None:
    library = [path for path in SOURCES if "cli" not in path.relative_to(ROOT / "src" / "depthlaw").parts]
    assert not found(r"print|sys\.std(out|err)\.write", library)


def test_nothing_that_is_read_can_execute() -> None:
    risky = (
        r"eval|exec|__import__|(c?[pP]ickle|dill|joblib|shelve|marshal)\.\w+|torch\.load|np\.load|numpy\.load"
    )
    assert not found(risky, SOURCES)
    assert not [path for path in SOURCES if "trust_remote_code=True" in path.read_text(encoding="utf-8")]


def test_no_machine_is_named() -> None:
    private = re.compile(r"/(work|home|root|Users)/|\.\./shared")
    assert not [path for path in SOURCES if private.search(path.read_text(encoding="utf-8"))]


def test_every_error_is_documented_and_has_a_code_for_the_shell() -> None:
    for error in descendants(DepthlawError):
        assert error.__doc__, error
        assert error.exit_code > 0, error


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_exists_and_has_its_line(verb: str) -> None:
    place, line = VERBS[verb]
    module, _, name = place.partition(":")
    assert hasattr(importlib.import_module(module), name)
    assert line[0].isupper()
    assert line.endswith(".")


@pytest.mark.parametrize(
    "verb", ["fit", "lab", "predict", "plan", "design", "reproduce", "report", "show", "show env"]
)
def test_every_verb_says_what_each_option_is_for(verb: str) -> None:
    command = [sys.executable, "-m", "depthlaw", *verb.split(), "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: depthlaw {verb}" in done.stdout
    options = [line for line in done.stdout.splitlines() if line.startswith("  ") and line[2] != " "]
    assert options
    assert not [line for line in options if not re.search(r": [^\[]", line)]


def test_imports_go_downwards_only() -> None:
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("folder", ["benchmarks", "tools", "docs", "examples"])
def test_scripts_import_what_there_is(folder: str) -> None:
    """Scripts outside the package are run by hand, and would be found broken then."""
    for path in sorted((ROOT / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("depthlaw"):
                continue
            module = importlib.import_module(node.module or "")
            for name in (alias.name for alias in node.names):
                there = hasattr(module, name) or importlib.util.find_spec(f"{node.module}.{name}")
                assert there, f"{path.name}: {node.module} has no {name}"
