from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from depthlaw.cli.app import build_app, run
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.data import config as configs
from depthlaw.errors import UsageError


@dataclass(frozen=True)
class Starts:
    grid: int = 32
    spread: tuple[float, float] = (0.1, 10.0)


@dataclass(frozen=True)
class Settings:
    """Made-up settings.

    Attributes
    ----------
    form
        Terms of the law.
    """

    form: Literal["width+depth", "params"] = "params"
    order: Literal[1, 2] = 1
    seed: int = 0
    floor: float | None = None
    label: str = "x"
    profile: bool = True
    scales: tuple[float, ...] = (1.0,)
    names: tuple[str, ...] = ()
    fixed: dict[str, float] = field(default_factory=dict)
    batch: int | Literal["auto"] = "auto"
    table: Path | None = None
    starts: Starts = Starts()

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise UsageError("seed must not be negative.", "Take 0.")


DEFAULTS = Settings()

Attempt = Callable[..., Any]


@pytest.fixture
def attempt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Attempt:
    """Run a verb with a config file of the given text; return its settings, or its code and errors."""

    def attempt(text: str | None, *flags: str) -> Any:
        seen: list[Settings] = []
        app = build_app()

        @app.command(name="try")
        def attempt(*, config: Annotated[Settings, SETTINGS] = DEFAULTS, file: ConfigFile = NO_FILE) -> None:
            """Try."""
            seen.append(config)

        path = tmp_path / "try.toml"
        if text is not None:
            path.write_text(text, encoding="utf-8")
            flags = ("--config", str(path), *flags)
        code = run(app, ["try", *flags])
        return seen[0] if code == 0 else (code, capsys.readouterr().err.replace(f"{tmp_path}/", ""))

    return attempt


def test_without_file_and_flags_the_defaults_hold(attempt: Attempt) -> None:
    assert attempt(None) == DEFAULTS
    assert attempt("") == DEFAULTS


def test_the_file_wins_over_the_default_for_every_type(attempt: Attempt) -> None:
    wanted = Settings(
        form="width+depth",
        order=2,
        seed=7,
        floor=-1.5,
        label="",
        profile=False,
        scales=(),
        names=("a b", "-c"),
        fixed={"alpha_width": 1e-300, "x.y": float("inf")},
        batch=8,
        table=Path("a b/c"),
        starts=Starts(grid=2, spread=(-1.0, 0.1)),
    )
    assert attempt(configs.dump(wanted)) == wanted


def test_a_flag_wins_over_the_file_for_every_type(attempt: Attempt) -> None:
    text = configs.dump(Settings("width+depth", 2, 7, 2.0, "file", False, (3.0, 4.0), ("f",), batch=8))
    flags = (
        "--form params --order 1 --seed 1 --floor -1 --label flag --profile --scales 1 -2 3e-1 --names a b "
        "--batch auto --table t --starts.grid 4 --starts.spread 1 2"
    )
    assert attempt(text, *flags.split()) == Settings(
        order=1,
        seed=1,
        floor=-1.0,
        label="flag",
        scales=(1.0, -2.0, 0.3),
        names=("a", "b"),
        table=Path("t"),
        starts=Starts(4, (1.0, 2.0)),
    )


def test_what_the_flags_do_not_name_stays_as_in_the_file(attempt: Attempt) -> None:
    text = "seed = 3\n[starts]\ngrid = 2\n[fixed]\nalpha_width = 1\nfloor = 0.1"
    got = attempt(text, "--starts.spread", "3", "4", "--fixed.floor", "5", "--fixed.alpha_depth", "-2")
    assert got == Settings(
        seed=3, starts=Starts(2, (3.0, 4.0)), fixed={"alpha_width": 1.0, "floor": 5.0, "alpha_depth": -2.0}
    )


def test_a_table_can_be_given_as_pairs(attempt: Attempt) -> None:
    want = Settings(fixed={"a_b": -1.0, "c": 0.5})
    assert attempt(None, "--fixed", "a_b=-1, c=5e-1") == want
    assert attempt("fixed.c = 3\nfixed.d = 4", "--fixed", "a_b=-1,c=5e-1").fixed == {**want.fixed, "d": 4.0}
    code, err = attempt(None, "--fixed", "a_b=x")
    assert code == 2
    assert err.startswith('depthlaw: try: --fixed takes a number, not "x".')
    for wrong in ("a_b", "a_b=", "=1", "a=1,,b=2", ""):
        code, err = attempt(None, "--fixed", wrong)
        assert code == 2
        assert "is not NAME=VALUE; write --fixed a=1,b=2." in err


def test_a_flag_can_switch_a_setting_of_the_file_off(attempt: Attempt) -> None:
    assert attempt("floor = 1.0\nprofile = true", "--floor", "none", "--no-profile") == Settings(
        profile=False
    )


def test_the_order_of_file_and_flags_does_not_matter(attempt: Attempt, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("seed = 3\nfloor = 1", encoding="utf-8")
    got = attempt(None, "--seed", "4", "--config", str(tmp_path / "other.toml"))
    assert (got.seed, got.floor) == (4, 1.0)


def test_the_file_is_checked_also_where_flags_override_it(attempt: Attempt) -> None:
    assert attempt('seed = "3"', "--seed", "4") == (
        2,
        'depthlaw: try.toml: seed: expected a whole number, got "3".\n',
    )


def test_unknown_keys_and_wrong_types_are_exit_2_with_their_path(attempt: Attempt) -> None:
    code, err = attempt("sed = 3\nlabel = 1\nstarts.grid = 1.5")
    assert code == 2
    assert "try.toml: sed: unknown key; did you mean seed?\n" in err
    assert "try.toml: label: expected text in quotes, got 1.\n" in err
    assert "try.toml: starts.grid: expected a whole number, got 1.5.\n" in err
    assert err.count("\n") == 3


def test_what_the_dataclass_refuses_is_said_in_its_words(attempt: Attempt) -> None:
    assert attempt("seed = -3") == (2, "depthlaw: seed must not be negative.\nTake 0.\n")
    assert attempt("seed = -3", "--seed", "0") == DEFAULTS


def test_a_missing_file_is_exit_2(attempt: Attempt) -> None:
    said = "depthlaw: nowhere: there is no such file or folder.\n"
    assert attempt(None, "--config", "nowhere") == (2, said)


def test_help_shows_each_setting_with_its_words(attempt: Attempt, capsys: pytest.CaptureFixture[str]) -> None:
    app = build_app()

    @app.command(name="try")
    def verb(*, config: Annotated[Settings, SETTINGS] = DEFAULTS, file: ConfigFile = NO_FILE) -> None:
        """Try it."""

    assert run(app, ["try", "--help"]) == 0
    out = capsys.readouterr().out
    assert "Settings:" in out
    assert "--form CHOICE: Terms of the law. [choices: width+depth, params] [default: params]" in out
    assert "--config FILE: TOML file with any of the settings" in out
    assert "--profile, --no-profile" in out
