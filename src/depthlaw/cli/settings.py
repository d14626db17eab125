"""``--config FILE.toml`` under the flags of a verb: a flag wins over the file, the file over the default.

A verb that has a config dataclass takes it as its parameter ``config``, flattened into flags, and takes
`ConfigFile` beside it::

    def fit_command(
        runs: Path, /, *, config: Annotated[FitConfig, SETTINGS] = DEFAULTS, file: ConfigFile = NO_FILE
    ) -> int: ...

Lists and texts of a file are replaced by the flag as a whole; of a table (``dict``) the keys that are named.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Group, Parameter, Token
from cyclopts.argument import Argument, ArgumentCollection

from depthlaw.cli.reading import READING
from depthlaw.data import config as configs

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


CONVENTIONS = (*READING, fill_from_file)
"""What every verb does with its command line before the parser converts it, in this order."""


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
