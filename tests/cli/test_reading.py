"""What people write on a command line reaches every verb as they mean it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from depthlaw.cli import main
from depthlaw.cli.app import VERBS, build_app, run

Printed = pytest.CaptureFixture[str]
Read = Callable[..., dict[str, Any]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Give words to a verb that takes every kind of value; return what it got, nothing if it was refused."""
    monkeypatch.setenv("HOME", "/home/ada")

    def read(*words: str) -> dict[str, Any]:
        app = build_app()
        got: dict[str, Any] = {}

        @app.command(name="try")
        def attempt(
            runs: list[Path] | None = None,
            /,
            *,
            model: str = "",
            text: str = "",
            prompt: str = "",
            limit: str = "",
            out: Path | None = None,
            seed: int = 0,
            sizes: tuple[int, ...] = (),
            budget: float | None = None,
            batch: int | Literal["auto"] = "auto",
            fix: dict[str, float] | None = None,
        ) -> None:
            """Try."""
            got.update(locals())

        run(app, ["try", *words])
        return got

    return read


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--out=~/zz"], "out", Path("/home/ada/zz")),
        (["--out", "~"], "out", Path("/home/ada")),
        (["~/a.csv", "b~.csv"], "runs", [Path("/home/ada/a.csv"), Path("b~.csv")]),
        (["--model=~/m"], "model", "/home/ada/m"),
        (["--text=~/t.txt"], "text", "/home/ada/t.txt"),
        (["--prompt=~/ is home"], "prompt", "~/ is home"),
    ],
)
def test_a_path_may_begin_with_the_home_folder(read: Read, words: list[str], name: str, value: Any) -> None:
    assert read(*words)[name] == value


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--seed", "1e3"], "seed", 1000),
        (["--seed", "1k"], "seed", 1000),
        (["--seed", "1.5K"], "seed", 1500),
        (["--seed", "-2e1"], "seed", -20),
        (["--sizes", "1", "2k", "3e2"], "sizes", (1, 2000, 300)),
        (["--budget", "1B"], "budget", 1e9),
        (["--budget", "1.5e-3"], "budget", 1.5e-3),
        (["--budget", "2.5T"], "budget", 2.5e12),
        (["--batch", "4k"], "batch", 4000),
        (["--batch", "auto"], "batch", "auto"),
        (["--fix", "a=1k,b=2"], "fix", {"a": 1000.0, "b": 2.0}),
        (["--limit", "4k"], "limit", "4k"),
    ],
)
def test_numbers_may_be_written_as_the_field_does(
    read: Read, words: list[str], name: str, value: Any
) -> None:
    assert read(*words)[name] == value


@pytest.mark.parametrize("word", ["1.5", "1e-1", "1.2345k", "k", "1e999", "0x1k"])
def test_what_is_no_whole_number_is_refused(read: Read, word: str, capsys: Printed) -> None:
    assert read("--seed", word) == {}
    assert f'--seed takes a whole number, not "{word}".\nFor example' in capsys.readouterr().err


def test_the_laboratory_has_the_same_conventions(capsys: Printed) -> None:
    """It is an application of its own, which takes its conventions from nobody."""
    assert "lab" in VERBS
    assert main(["lab", "--out", ""]) == 2
    assert "--out is empty" in capsys.readouterr().err
    assert main(["lab", "--steps", "1k", "--batch", "8", "--dry-run"]) == 0
    assert "steps = 1000\n" in capsys.readouterr().out
