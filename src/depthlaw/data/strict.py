"""The converter behind `depthlaw.data.config`: cattrs with every silent conversion taken out.

What does not fit raises `WrongType`; cattrs collects these over a whole file, and `problems_in` turns them
into one line each.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import cattrs
from cattrs.errors import (
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn

from depthlaw.errors import DepthlawError, did_you_mean

_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
    Path: "a path in quotes",
    type(None): "nothing",
}


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing wrong with a piece of data.

    Attributes
    ----------
    kind
        ``refused`` is what the dataclass itself said in ``__post_init__``.
    text
        One line: the dotted path and what is wrong there.
    """

    kind: Literal["unknown", "missing", "type", "refused"]
    text: str


class WrongType(Exception):
    """``value`` is not what ``hint`` asks for."""

    def __init__(self, value: Any, hint: Any, detail: str = "") -> None:
        super().__init__(f"expected {describe(hint)}{detail}, got {_shown(value)}")


def describe(hint: Any) -> str:
    """Say in words what a field takes: ``a whole number``, ``a list of numbers``, ``one of "a", "b"``."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in _WORDS:
        return _WORDS[hint]
    if origin is Literal:
        return f"one of {', '.join(_shown(arg) for arg in args)}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(arg) for arg in args if arg is not type(None))
    if origin is tuple:
        return "a list" if not args else f"a list, each {describe(args[0])}"
    if origin is dict or dataclasses.is_dataclass(hint):
        return "a table"
    return str(getattr(hint, "__name__", hint))


def problems_in(error: BaseException, path: str = "") -> list[Problem]:
    """Return every problem inside what the converter raised, with its dotted path."""
    if isinstance(error, ClassValidationError):
        noted, bare = error.group_exceptions()
        found = [
            problem for inner, note in noted for problem in problems_in(inner, _join(path, f".{note.name}"))
        ]
    elif isinstance(error, IterableValidationError):
        at, bare = error.group_exceptions()
        found = [
            problem
            for inner, mark in at
            for problem in problems_in(
                inner, _join(path, f"[{mark.index}]" if isinstance(mark.index, int) else f".{mark.index}")
            )
        ]
    else:
        return list(_said(error, path))
    return [*found, *(problem for inner in bare for problem in _said(inner, path))]


def _said(error: BaseException, path: str) -> Iterable[Problem]:
    where = f"{path}: " if path else ""
    if isinstance(error, ForbiddenExtraKeysError):
        names = [field.name for field in dataclasses.fields(error.cl)]
        for key in sorted(error.extra_fields):
            near = did_you_mean(key, names)
            advice = f"did you mean {_join(path, f'.{near}')}?" if near else f"have: {', '.join(names)}."
            yield Problem("unknown", f"{_join(path, f'.{key}')}: unknown key; {advice}")
    elif isinstance(error, WrongType):
        yield Problem("type", f"{where}{error}.")
    elif isinstance(error, KeyError):
        yield Problem("missing", f"{where}missing; it has no default.")
    elif isinstance(error, DepthlawError):
        yield Problem("refused", where + " ".join(str(error).splitlines()))
    elif isinstance(error, ValueError | TypeError):
        yield Problem("refused", f"{where}{error}")
    else:
        raise error


def _join(path: str, step: str) -> str:
    return f"{path}{step}" if path else step.removeprefix(".")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _exactly(hint: type) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        # ``type`` rather than ``isinstance``: a bool is an int to Python, not to a config file.
        if type(value) is not hint:
            raise WrongType(value, hint)
        return value

    return structure


def _number(value: Any, _: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is not int:
        raise WrongType(value, float)
    try:
        exact = float(value)
    except OverflowError:
        raise WrongType(value, float) from None
    if exact != value:
        raise WrongType(value, float, " that double precision holds exactly")
    return exact


def _path(value: Any, _: Any) -> Path:
    if type(value) is not str:
        raise WrongType(value, Path)
    return Path(value)


def _literal(value: Any, hint: Any) -> Any:
    # By type as well: 1, 1.0 and True are equal, and equal is not the same.
    if not any(type(value) is type(arg) and value == arg for arg in get_args(hint)):
        raise WrongType(value, hint)
    return value


def _each(items: Iterable[tuple[int | str, Any, Any]], hint: Any) -> list[Any]:
    """Structure ``(index or key, value, type)`` items, collecting what fails."""
    done, failed = [], []
    for mark, value, item_hint in items:
        try:
            done.append(CONVERTER.structure(value, item_hint))
        except (WrongType, ClassValidationError, IterableValidationError) as error:
            error.add_note(IterableValidationNote("", mark, item_hint))
            failed.append(error)
    if failed:
        raise IterableValidationError("in a list or table", failed, hint)
    return done


def _tuple(value: Any, hint: Any) -> tuple[Any, ...]:
    args = get_args(hint)
    if not isinstance(value, list | tuple):
        raise WrongType(value, hint)
    if args[-1] is Ellipsis:
        args = (args[0],) * len(value)
    elif len(args) != len(value):
        raise WrongType(value, hint, f", {len(args)} of them")
    return tuple(_each(((i, v, h) for i, (v, h) in enumerate(zip(value, args, strict=True))), hint))


def _dict(value: Any, hint: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise WrongType(value, hint)
    if strangers := [key for key in value if not isinstance(key, str)]:
        raise WrongType(strangers[0], hint, ", with names in quotes as keys")
    item_hint = get_args(hint)[1]
    return dict(zip(value, _each(((key, item, item_hint) for key, item in value.items()), hint), strict=True))


def _union(value: Any, hint: Any) -> Any:
    members = get_args(hint)
    if value is None and type(None) in members:
        return None
    rest = [member for member in members if member is not type(None)]
    if len(rest) == 1:
        return CONVERTER.structure(value, rest[0])
    for member in rest:
        try:
            return CONVERTER.structure(value, member)
        except (WrongType, ClassValidationError, IterableValidationError):
            continue
    raise WrongType(value, hint)


def _dataclass(cls: Any) -> Callable[[Any, Any], Any]:
    build = make_dict_structure_fn(cls, CONVERTER)

    def structure(value: Any, hint: Any) -> Any:
        if not isinstance(value, Mapping):
            raise WrongType(value, cls)
        return build(value, hint)

    return structure


def _of(*origins: Any) -> Callable[[Any], bool]:
    return lambda hint: get_origin(hint) in origins


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    for scalar in (bool, int, str):
        converter.register_structure_hook(scalar, _exactly(scalar))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(Path, _path)
    converter.register_structure_hook_factory(dataclasses.is_dataclass, _dataclass)
    converter.register_structure_hook_func(_of(Literal), _literal)
    converter.register_structure_hook_func(_of(tuple), _tuple)
    converter.register_structure_hook_func(_of(dict), _dict)
    converter.register_structure_hook_func(_of(typing.Union, types.UnionType), _union)
    return converter


CONVERTER = _converter()
