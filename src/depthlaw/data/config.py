"""Configuration: a frozen dataclass on one side, TOML on the other, and nothing guessed in between.

A value of the wrong type is an error, never a conversion: ``1.5`` is no whole number, ``true`` is no ``1``
and ``"5"`` is no ``5`` (a whole number is fine where a number is expected). Unknown keys are errors too. A
file's problems are reported together.

Fields may be ``bool``, ``int``, ``float``, ``str``, ``Path``, ``Literal``, ``tuple[X, ...]``,
``tuple[X, Y]``, ``dict[str, X]``, unions of these, another such dataclass, and ``X | None`` with the default
``None``, which is written by leaving the key out.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tomllib
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, TypeVar

from cattrs.errors import ClassValidationError

from depthlaw.data.jsonio import canonical_json, plain
from depthlaw.data.strict import CONVERTER, Problem, WrongType, problems_in
from depthlaw.errors import ConfigError, UsageError, cannot_read

T = TypeVar("T")
Keys = tuple[str, ...]

LOCAL: Mapping[str, Any] = {"changes_results": False}
"""Field metadata for what does not change results (``field(default=4, metadata=LOCAL)``): threads, devices,
progress. Such fields, and paths, stay out of a run's identity."""


def own_first(cls: type[T]) -> type[T]:
    """Class decorator: list the fields that a config adds before those it inherits, in help and in files."""
    fields: dict[str, Any] = cls.__dataclass_fields__  # type: ignore[attr-defined]
    inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__dataclass_fields__", ())}
    own = {name: field for name, field in fields.items() if name not in inherited}
    cls.__dataclass_fields__ = own | fields  # type: ignore[attr-defined]
    return cls


@dataclasses.dataclass(frozen=True)
class Difference:
    """One key on which two configurations differ.

    Attributes
    ----------
    key
        Dotted path.
    before, after
        The values, ``None`` also for a key that is absent.
    """

    key: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.key} {_short(self.before)} → {_short(self.after)}"


def structure(cls: type[T], data: Mapping[str, Any], *, source: str = "config") -> T:
    """Build a ``cls`` from plain data (as TOML and JSON give it), strictly.

    Parameters
    ----------
    source
        What to call the data in errors: a file's name.

    Raises
    ------
    ConfigError
        Unknown keys, missing keys, values of another type, and what ``cls`` itself refuses; up to three
        problems are spelled out, the rest counted.
    """
    check_schema(cls)
    try:
        return CONVERTER.structure(data, cls)
    except (ClassValidationError, WrongType) as error:
        raise _refusal(problems_in(error), source) from None


def replaced(cls: type[T], config: T | None, settings: Mapping[str, Any]) -> T:
    """Return ``config`` with some of its fields set anew, as strictly as a file is read.

    For settings that a caller gives in Python: NumPy numbers and arrays, tuples and paths are fine there, a
    value of another type is not.

    Parameters
    ----------
    config
        What holds where ``settings`` says nothing; its own values are checked too. ``None`` for the defaults.
    settings
        Field → value.

    Raises
    ------
    UsageError
        ``config`` is something else than a ``cls``.
    ConfigError
        Unknown names, missing ones, and values of another type. What ``cls`` itself refuses passes as it is.
    """
    name = cls.__name__
    if config is not None and not isinstance(config, cls):
        raise UsageError(
            f"{name} is expected as config, not {type(config).__name__}.",
            f"Give {name}(…), or its fields by name.",
        )
    kind = cls if config is None else type(config)
    own = {} if config is None else _fields_of(config)
    hints = typing.get_type_hints(kind)
    data = {**own, **{key: _one_as_list(hints.get(key), _as_in_files(v)) for key, v in settings.items()}}
    try:
        present(kind, data, source=name)
    except ConfigError as error:  # what a file calls a table
        raise ConfigError(error.message.replace("expected a table", "expected a dict"), error.hint) from None
    if any(_required(field) and field.name not in data for field in dataclasses.fields(kind)):  # type: ignore[arg-type]
        return structure(kind, data, source=name)  # which says what is missing
    # Built here, not by the converter: what the class refuses keeps its own words.
    return kind(**{key: CONVERTER.structure(value, hints[key]) for key, value in data.items()})


def present(cls: type[T], data: Mapping[str, Any], *, source: str = "config") -> dict[Keys, Any]:
    """Check plain data against ``cls`` and return only the values it holds, without filling in defaults.

    For data that something else completes: a file below command-line flags. Missing keys are therefore no
    problem here, and combinations are left to ``cls``, which sees the completed values.

    Returns
    -------
    dict
        Typed value by path: ``{("floor",): 1.0, ("starts", "grid"): 32}``.

    Raises
    ------
    ConfigError
        Unknown keys and values of another type.
    """
    check_schema(cls)
    try:
        CONVERTER.structure(data, cls)
    except (ClassValidationError, WrongType) as error:
        if problems := [problem for problem in problems_in(error) if problem.kind in ("unknown", "type")]:
            raise _refusal(problems, source) from None
    return dict(_leaves(cls, data, ()))


def loads(cls: type[T], text: str, *, source: str = "config") -> T:
    """Build a ``cls`` from the text of a TOML file.

    Raises
    ------
    ConfigError
        When the text is not TOML or does not fit ``cls`` (see `structure`).
    """
    return structure(cls, _parse(text, source), source=source)


def load(cls: type[T], path: str | Path) -> T:
    """Read a ``cls`` from a TOML file.

    Raises
    ------
    ConfigError
        When the file cannot be read, is not TOML, or does not fit ``cls`` (see `structure`).
    """
    return structure(cls, read_toml(path), source=str(path))


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file as plain data.

    Raises
    ------
    ConfigError
        When the file cannot be read or is not TOML.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        said = cannot_read(path, error)
        raise ConfigError(said.message, said.hint) from None
    return _parse(text, str(path))


def dump(config: Any) -> str:
    """Write a config dataclass as TOML that `loads` reads back equal.

    Fields that are ``None`` are left out; tables follow the plain keys.
    """
    import tomlkit

    check_schema(type(config))
    return tomlkit.dumps(_for_toml(to_dict(config)))


def to_dict(config: Any) -> dict[str, Any]:
    """Return a config dataclass as nested plain data: tuples as lists, paths as text."""
    # Non-finite numbers stay: TOML has words for them.
    data = plain(config, nonfinite=lambda value: value)
    if not isinstance(data, dict):
        raise TypeError(f"{type(config).__name__} is no dataclass")
    return data


def identity_of(config: Any) -> dict[str, Any]:
    """Return the part of a config dataclass that changes results: no paths, no field marked `LOCAL`."""
    kept = {}
    hints = typing.get_type_hints(type(config))
    for field in dataclasses.fields(config):
        value, hint = getattr(config, field.name), hints[field.name]
        # By the declared type: whether a path is given or left out must not make another run either.
        a_path = hint is Path or Path in typing.get_args(hint)
        if not a_path and field.metadata.get("changes_results", True):
            kept[field.name] = identity_of(value) if dataclasses.is_dataclass(value) else value
    return kept


def hash_of(mapping: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hexadecimal, of what changes results; the order of keys does not matter."""
    return hashlib.sha256(canonical_json(mapping).encode()).hexdigest()


def differing_keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return where two nested mappings differ, by dotted path, in sorted order."""
    old, new = dict(_flat(before, "")), dict(_flat(after, ""))
    return tuple(
        Difference(key, old.get(key), new.get(key))
        for key in sorted(old.keys() | new.keys())
        if canonical_json(old.get(key)) != canonical_json(new.get(key))
    )


def check_schema(cls: type) -> None:
    """Refuse a dataclass that TOML cannot hold: ``None`` is an absent key, so it must be the default.

    Raises
    ------
    TypeError
        A mistake in ``cls``, not in the data.
    """
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        default = field.default
        if type(None) in typing.get_args(hints[field.name]) and default is not None:
            raise TypeError(f"{cls.__name__}.{field.name} may be None, so its default must be None")
        if nested := _nested(hints[field.name]):
            check_schema(nested)


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _fields_of(config: Any) -> dict[str, Any]:
    return {f.name: _as_in_files(getattr(config, f.name)) for f in dataclasses.fields(config)}


def _as_in_files(value: Any) -> Any:
    """Return a Python value as a file would give it; what no file can hold stays, and is refused later."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields_of(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _as_in_files(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_in_files(item) for item in value]
    # NumPy scalars and arrays, without importing NumPy to ask.
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def _one_as_list(hint: Any, value: Any) -> Any:
    """Take a single text for a list of one where texts are listed: ``forms="width"``."""
    return [value] if isinstance(value, str) and typing.get_origin(hint) is tuple else value


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: not valid TOML: {error}.") from None


def _refusal(problems: list[Problem], source: str) -> ConfigError:
    shown = problems if len(problems) <= 3 else problems[:2]
    lines = [f"{source}: {problem.text}" for problem in shown]
    if len(problems) > len(shown):
        lines.append(f"{source}: and {len(problems) - len(shown)} more problems.")
    return ConfigError("\n".join(lines))


def _leaves(
    cls: type, data: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    hints = typing.get_type_hints(cls)
    for name, value in data.items():
        if (nested := _nested(hints[name])) and value is not None:
            yield from _leaves(nested, value, (*path, name))
        else:
            yield (*path, name), CONVERTER.structure(value, hints[name])


def _nested(hint: Any) -> type | None:
    """Return the dataclass in ``hint`` (itself or ``X | None``), else ``None``."""
    found = [part for part in (hint, *typing.get_args(hint)) if isinstance(part, type)]
    if typing.get_origin(hint) in (tuple, dict):
        return None
    return next((part for part in found if dataclasses.is_dataclass(part)), None)


def _for_toml(data: Mapping[str, Any]) -> dict[str, Any]:
    # Plain keys first: whatever follows a [table] header belongs to that table.
    ordered = sorted(data.items(), key=lambda item: isinstance(item[1], dict))
    return {
        key: _for_toml(value) if isinstance(value, dict) else value
        for key, value in ordered
        if value is not None
    }


def _flat(data: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _short(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
