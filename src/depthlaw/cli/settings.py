"""``--config FILE.toml`` under the flags of a verb: a flag wins over the file, the file over the default.

A verb that has a config dataclass takes it as its parameter ``config``, flattened into flags, and takes
`ConfigFile` beside it::

    def fit_command(
        runs: Path, /, *, config: Annotated[FitConfig, SETTINGS] = DEFAULTS, file: ConfigFile = NO_FILE
    ) -> int: ...

Lists and texts of a file are replaced by the flag as a whole; of a table (``dict``) the keys that are named:
``--fix alpha_depth=1,floor=0`` or, one at a time, ``--fix.alpha_depth 1``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from cyclopts import App, CoercionError, Group, Parameter, Token
from cyclopts.argument import Argument, ArgumentCollection
from cyclopts.utils import UNSET

from depthlaw.data import config as configs
from depthlaw.errors import UsageError

GROUP = Group("Settings", sort_key=1)

SETTINGS = Parameter(name="*", group=GROUP)
"""How a verb annotates its config dataclass."""


@Parameter(name="*", group=GROUP)
@dataclass(frozen=True)
class ConfigFile:
    """Where settings come from besides flags.

    Attributes
    ----------
    config
        TOML file with any of the settings, under their names in Python; flags win over it.
    """

    config: Annotated[Path | None, Parameter(metavar="FILE")] = None


NO_FILE = ConfigFile()


def fill_from_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Give every setting without a flag the value that the ``--config`` file has for it.

    Raises
    ------
    ConfigError
        When the file cannot be read, or holds unknown keys or values of another type.
    """
    roots = [argument for argument in arguments if not argument.keys]
    chosen = next((root for root in roots if root.hint is ConfigFile), None)
    settings = next((root for root in roots if root.field_info.name == "config"), None)
    if chosen is None or settings is None or not chosen.has_tokens:
        return
    path = chosen.children[0].tokens[0].value
    values = configs.present(settings.resolved_hint, configs.read_toml(path), source=path)
    leaves = {leaf.keys: leaf for leaf in settings.children_recursive}
    for keys, value in values.items():
        _fill(leaves[keys], value, path)


def _fill(leaf: Argument, value: Any, source: str) -> None:
    name = ".".join(leaf.keys)
    if not leaf.tokens:
        # The value is already checked and typed: it passes as it is. Its text is for types of which the
        # parser cannot tell that the value is one of them, such as Literal.
        leaf.append(Token(keyword=name, value=str(value), implicit_value=value, source=source))
    elif isinstance(value, dict):
        named = {token.keys for token in leaf.tokens}
        for key, item in value.items():
            if (key,) not in named:
                leaf.append(Token(keyword=f"{name}.{key}", value=str(item), keys=(key,), source=source))


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


_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMBT])")
_FACTORS = {"k": 3, "K": 3, "M": 6, "B": 9, "T": 12}


def read_suffixes(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Read ``--params 7B`` and ``--steps 1k`` as tables are read: thousands to trillions."""
    for argument in arguments:
        kinds = _members(argument.hint)
        if not kinds & {int, float} or str in kinds:
            continue
        for place, token in enumerate(argument.tokens):
            found = _SUFFIXED.fullmatch(token.value) if token.implicit_value is UNSET else None
            if found:
                number = Decimal(found[1]).scaleb(_FACTORS[found[2]])
                text = f"{number:f}"
                whole = text.rstrip("0").rstrip(".") if "." in text else text
                argument.tokens[place] = token.evolve(value=whole)


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
        for token in argument.tokens:
            if token.implicit_value is UNSET and "." in token.value:
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
            token.implicit_value is UNSET and not token.value.strip() for token in argument.tokens
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
