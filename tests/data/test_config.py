from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthlaw.data import config
from depthlaw.data.config import LOCAL
from depthlaw.errors import ConfigError, ExitCode, UsageError


@dataclass(frozen=True)
class Starts:
    grid: int = 32
    spread: tuple[float, float] = (0.1, 10.0)


@dataclass(frozen=True)
class Settings:
    form: Literal["width+depth", "params"] = "params"
    order: Literal[1, 2] = 1
    seed: int = 0
    floor: float | None = None
    delta: float = 1e-3
    label: str = ""
    profile: bool = True
    scales: tuple[float, ...] = ()
    names: tuple[str, ...] = ("width",)
    fixed: dict[str, float] = field(default_factory=dict)
    batch: int | Literal["auto"] = "auto"
    starts: Starts = Starts()
    reference: Starts | None = None
    table: Path | None = None
    threads: int = field(default=1, metadata=LOCAL)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise UsageError(f"seed is {self.seed}, and must not be negative.", "Take 0.")


@dataclass(frozen=True)
class Required:
    runs: str
    limit: int = 3


def refusal(text: str, cls: type = Settings) -> str:
    with pytest.raises(ConfigError) as caught:
        config.loads(cls, text, source="fit.toml")
    assert caught.value.exit_code == ExitCode.USAGE
    assert len(str(caught.value).splitlines()) <= 3
    return str(caught.value)


finite = st.floats(allow_nan=False)
starts = st.builds(Starts, grid=st.integers(-(2**63), 2**63 - 1), spread=st.tuples(finite, finite))
# TOML is UTF-8: lone surrogates have no place in it.
text = st.text(st.characters(exclude_categories=["Cs"]))
settings = st.builds(
    Settings,
    form=st.sampled_from(["width+depth", "params"]),
    order=st.sampled_from([1, 2]),
    seed=st.integers(0, 2**63 - 1),
    floor=st.none() | finite,
    delta=finite,
    label=text,
    profile=st.booleans(),
    scales=st.lists(finite).map(tuple),
    names=st.lists(text).map(tuple),
    fixed=st.dictionaries(text, finite),
    batch=st.just("auto") | st.integers(1, 10**6),
    starts=starts,
    reference=st.none() | starts,
    table=st.none() | text.map(Path),
    threads=st.integers(1, 64),
)


@given(settings)
def test_writing_and_reading_gives_the_same_configuration(value: Settings) -> None:
    assert config.loads(Settings, config.dump(value)) == value


@given(settings, settings)
def test_equal_identity_is_equal_hash(one: Settings, other: Settings) -> None:
    a, b = config.identity_of(one), config.identity_of(other)
    assert (config.hash_of(a) == config.hash_of(b)) == (not config.differing_keys(a, b))


def test_nan_and_infinities_survive() -> None:
    read = config.loads(Settings, config.dump(Settings(delta=math.nan, scales=(math.inf, -math.inf))))
    assert math.isnan(read.delta)
    assert read.scales == (math.inf, -math.inf)


def test_a_whole_number_will_do_for_a_number() -> None:
    read = config.loads(Settings, "delta = 1\nscales = [1, 2.5]")
    assert type(read.delta) is float
    assert read.scales == (1.0, 2.5)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("seed = 1.5", "seed: expected a whole number, got 1.5."),
        ("seed = true", "seed: expected a whole number, got true."),
        ('seed = "5"', 'seed: expected a whole number, got "5".'),
        ("profile = 1", "profile: expected true or false, got 1."),
        ("delta = true", "delta: expected a number, got true."),
        ("delta = 9007199254740993", "delta: expected a number that double precision holds exactly"),
        ("label = 3", "label: expected text in quotes, got 3."),
        ("table = 3", "table: expected a path in quotes, got 3."),
        ('scales = "abc"', 'scales: expected a list, each a number, got "abc".'),
        ("scales = [1, true]", "scales[1]: expected a number, got true."),
        ("starts.spread = [1.0]", "starts.spread: expected a list, each a number, 2 of them, got [1.0]."),
        ("starts = 4", "starts: expected a table, got 4."),
        ("starts.grid = 2.0", "starts.grid: expected a whole number, got 2.0."),
        ("reference.grid = 2.0", "reference.grid: expected a whole number, got 2.0."),
        ("fixed = [1]", "fixed: expected a table, got [1]."),
        ('fixed.floor = "x"', 'fixed.floor: expected a number, got "x".'),
        ('form = "parms"', 'form: expected one of "width+depth", "params", got "parms".'),
        ("order = true", "order: expected one of 1, 2, got true."),
        ("order = 1.0", "order: expected one of 1, 2, got 1.0."),
        ('batch = "all"', 'batch: expected a whole number or one of "auto", got "all".'),
        ("seed = -1", "seed is -1, and must not be negative. Take 0."),
    ],
)
def test_a_wrong_value_is_named_with_its_path_and_what_is_expected(line: str, said: str) -> None:
    assert refusal(line).startswith(f"fit.toml: {said}")


def test_an_unknown_key_gets_the_nearest_one() -> None:
    assert refusal("flor = 1") == "fit.toml: flor: unknown key; did you mean floor?"
    assert refusal("starts.gird = 1") == "fit.toml: starts.gird: unknown key; did you mean starts.grid?"
    assert refusal("starts.xyz = 1") == "fit.toml: starts.xyz: unknown key; have: grid, spread."


def test_a_missing_key_without_default_is_named() -> None:
    assert refusal("limit = 1", Required) == "fit.toml: runs: missing; it has no default."


def test_all_problems_come_together_in_three_lines() -> None:
    lines = refusal('seed = "a"\ndelta = "b"\nlabel = 1\nflor = 2\nprofile = 3').splitlines()
    assert lines[0] == 'fit.toml: seed: expected a whole number, got "a".'
    assert lines[2] == "fit.toml: and 3 more problems."


def test_what_is_not_toml_says_where(tmp_path: Path) -> None:
    assert "not valid TOML" in refusal("seed = = 3")
    assert "line 1" in refusal("seed = = 3")
    path = tmp_path / "fit.toml"
    path.write_bytes(b"label = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        config.load(Settings, path)


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        config.load(Settings, tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(Settings, tmp_path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fit.toml"
    path.write_bytes(b"\xef\xbb\xbfseed = 3\r\n")
    assert config.load(Settings, path).seed == 3


def test_present_gives_only_what_is_there_and_leaves_combinations_alone() -> None:
    data: dict[str, Any] = {"limit": 4}
    assert config.present(Required, data) == {("limit",): 4}
    data = {"seed": -1, "delta": 1, "starts": {"grid": 2}}
    assert config.present(Settings, data) == {("seed",): -1, ("delta",): 1.0, ("starts", "grid"): 2}
    with pytest.raises(ConfigError, match="unknown key"):
        config.present(Required, {"limits": 4})


def test_one_text_is_taken_for_a_list_of_one_in_python() -> None:
    assert config.replaced(Settings, None, {"names": "ab"}).names == ("ab",)
    with pytest.raises(ConfigError, match="expected a list"):
        config.loads(Settings, 'names = "ab"')


def test_identity_leaves_out_paths_and_what_does_not_change_results() -> None:
    one, other = Settings(table=Path("a"), threads=1), Settings(table=Path("b"), threads=8)
    assert config.identity_of(one) == config.identity_of(other)
    assert config.identity_of(one) != config.identity_of(replace(one, seed=1))


def test_differing_keys_have_dotted_paths_and_both_values() -> None:
    one = config.to_dict(Settings())
    other = config.to_dict(Settings(seed=2, starts=Starts(grid=8)))
    assert [str(d) for d in config.differing_keys(one, other)] == ["seed 0 → 2", "starts.grid 32 → 8"]


def test_the_hash_knows_nan_from_none_and_one_from_true() -> None:
    values: list[Any] = [None, math.nan, math.inf, -math.inf, 0, 0.0, False, "", 1, True]
    assert len({config.hash_of({"x": value}) for value in values}) == len(values)
    assert config.hash_of({"a": 1, "b": 2}) == config.hash_of({"b": 2, "a": 1})


def test_a_field_that_none_could_not_come_back_from_is_refused() -> None:
    @dataclass(frozen=True)
    class Wrong:
        floor: float | None = 1.0

    with pytest.raises(TypeError, match="default must be None"):
        config.dump(Wrong())


# -- settings given in Python --------------------------------------------------------------------------


@dataclass(frozen=True)
class Picky:
    size: int
    level: float = 0.5

    def __post_init__(self) -> None:
        if self.level > 1:
            raise UsageError(f"level {self.level:g} is no share.", "Use 0.95.")


def test_settings_replace_fields_and_leave_the_others() -> None:
    changed = config.replaced(Settings, Settings(seed=3), {"label": "x", "fixed": {"a": 1}})
    assert changed == Settings(seed=3, label="x", fixed={"a": 1.0})
    assert config.replaced(Settings, None, {}) == Settings()
    whole = Settings(table=Path("x"), starts=Starts(grid=3), reference=Starts(), names=("a", "b"))
    assert config.replaced(Settings, whole, {}) == whole


def test_python_values_that_files_do_not_have_are_fine() -> None:
    given = {
        "seed": np.int64(3),
        "delta": np.float64(0.5),
        "profile": np.bool_(False),
        "scales": np.array([1, 2]),
        "names": ["a"],
        "fixed": {"a": np.float32(0.5)},
        "starts": Starts(grid=3),
        "table": Path("x"),
        "floor": None,
    }
    changed = config.replaced(Settings, None, given)
    assert (changed.seed, changed.delta, changed.profile, changed.scales) == (3, 0.5, False, (1.0, 2.0))
    assert (changed.names, changed.fixed, changed.starts) == (("a",), {"a": 0.5}, Starts(grid=3))
    assert changed.table == Path("x")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"profile": "no"}, 'Settings: profile: expected true or false, got "no".'),
        ({"seed": True}, "Settings: seed: expected a whole number, got true."),
        ({"seed": None}, "Settings: seed: expected a whole number, got None."),
        ({"delta": "0.9"}, 'Settings: delta: expected a number, got "0.9".'),
        ({"fixed": None}, "Settings: fixed: expected a dict, got None."),
        ({"fixed": ["a"]}, "Settings: fixed: expected a dict, got ['a']."),
        ({"fixed": {"a": "1"}}, 'Settings: fixed.a: expected a number, got "1".'),
        ({"fixed": {1: 1.0}}, "Settings: fixed: expected a dict, with names in quotes as keys, got 1."),
        ({"label": ["width"]}, "Settings: label: expected text in quotes, got ['width']."),
        ({"names": 3}, "Settings: names: expected a list, each text in quotes, got 3."),
        ({"label": {1, 2}}, "Settings: label: expected text in quotes, got {1, 2}."),
        ({"sed": 1}, "Settings: sed: unknown key; did you mean seed?"),
    ],
)
def test_settings_of_another_type_are_refused(setting: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        config.replaced(Settings, Settings(), setting)
    assert str(error.value) == said


def test_a_configuration_that_is_none_or_wrong_itself_is_refused() -> None:
    with pytest.raises(UsageError, match="Settings is expected as config, not str"):
        config.replaced(Settings, "seed=3", {})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="label: expected text in quotes, got 3"):
        config.replaced(Settings, Settings(label=3), {})  # type: ignore[arg-type]


def test_what_the_class_refuses_keeps_its_words_and_what_is_missing_is_named() -> None:
    with pytest.raises(UsageError) as error:
        config.replaced(Picky, Picky(1), {"level": 95})
    assert (error.value.message, error.value.hint) == ("level 95 is no share.", "Use 0.95.")
    with pytest.raises(ConfigError, match="Picky: size: missing"):
        config.replaced(Picky, None, {"level": 0.9})
