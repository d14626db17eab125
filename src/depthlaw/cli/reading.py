"""What people write on a command line, put as the parser reads it, and what it would read wrongly refused.

``--fix a=1,b=2``, ``--out=~/runs``, ``--steps 10k``, ``--seed 1e3``: the same for every verb.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from cyclopts import App, CoercionError, Token
from cyclopts.argument import Argument, ArgumentCollection
from cyclopts.utils import UNSET

from depthlaw.errors import UsageError

NAMED_PLACES = ("model", "text", "against")
"""Parameters that take a path or a name, and are texts to the parser."""

_NUMBER = re.compile(r"([+-]?\d+\.?\d*)(?:[eE]([+-]?\d{1,2}))?([kKmMbBtT]?)")
_ZEROS = {"": 0, "k": 3, "m": 6, "b": 9, "t": 12}


def split_pairs(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Read ``--fix a=1,b=2`` as the parser reads ``--fix.a 1 --fix.b 2``.

    Raises
    ------
    CoercionError
        For a value without names.
    """
    for argument in arguments:
        if get_origin(argument.resolved_hint) is not dict:
            continue
        for token in [token for token in argument.tokens if not token.keys]:
            argument.tokens.remove(token)
            for pair in token.value.split(","):
                name, equals, value = (part.strip() for part in pair.partition("="))
                if not (name and equals and value):
                    flag = token.keyword
                    raise CoercionError(
                        f'"{pair}" is not NAME=VALUE; write {flag} a=1,b=2.', argument=argument
                    )
                argument.append(token.evolve(value=value, keys=(name,)))


def expand_home(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Read ``--out=~/runs`` as below the home folder: a shell does so only where a word begins with ``~``.

    Raises
    ------
    UsageError
        For the home of someone who is not known here.
    """
    for argument in arguments:
        if Path in _members(argument.hint) or argument.field_info.name in NAMED_PLACES:
            for at, token in _written(argument):
                if token.value.startswith("~"):
                    argument.tokens[at] = token.evolve(value=_at_home(token.value))


def _at_home(path: str) -> str:
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        raise UsageError(f"{path}: there is no such home folder.", "Write the whole path.") from None


def spell_out_numbers(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Read ``10k``, ``1.5M`` and ``1e3`` as numbers, whole ones where those are taken."""
    for argument in arguments:
        hint = argument.resolved_hint
        kinds = _members(get_args(hint)[1] if get_origin(hint) is dict else argument.hint)
        if not kinds & {int, float} or str in kinds:
            continue
        for at, token in _written(argument):
            if (found := _NUMBER.fullmatch(token.value.strip())) and (found[2] or found[3]):
                value = Decimal(found[1]).scaleb(int(found[2] or 0) + _ZEROS[found[3].lower()])
                whole = value == value.to_integral_value()
                if whole or float in kinds:
                    argument.tokens[at] = token.evolve(value=str(int(value)) if whole else str(value))


def _written(argument: Argument) -> Iterator[tuple[int, Token]]:
    """Go through what was written for an argument, with its place; not what a file or a preset gave."""
    return ((at, token) for at, token in enumerate(argument.tokens) if token.implicit_value is UNSET)


def refuse_rounding(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse ``--seed 1.5``, which the parser would quietly round to 2.

    Raises
    ------
    CoercionError
        For a number with a point where only whole numbers are taken.
    """
    for argument in arguments:
        kinds = _members(argument.hint)
        if int not in kinds or float in kinds:
            continue
        for _, token in _written(argument):
            if "." in token.value:
                raise CoercionError(token=token, argument=argument, target_type=int)


def refuse_empty_paths(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse ``fit ""``, as an unset variable of a script gives it: the path "" is the current folder.

    Raises
    ------
    UsageError
        For an empty value where a path is taken.
    """
    for argument in arguments:
        if Path in _members(argument.hint) and any(
            not token.value.strip() for _, token in _written(argument)
        ):
            raise UsageError(
                f"{argument.name} is empty; a path is expected.",
                'Is a variable of the script not set? The current folder is ".".',
            )


def _members(hint: Any) -> set[Any]:
    """Return the simple types that a value or an item of ``hint`` may have."""
    if get_origin(hint) in (Union, UnionType, tuple, list, dict):
        return set().union(*(_members(arg) for arg in get_args(hint)))
    return {hint}


READING = (split_pairs, refuse_empty_paths, expand_home, spell_out_numbers, refuse_rounding)
"""All of them, in the order in which they are done."""
