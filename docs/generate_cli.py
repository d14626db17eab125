"""Write docs/cli/*.md from the help of the command line itself: one page a command.

    python docs/generate_cli.py

A test checks that the committed pages are what this writes.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from cyclopts import App

from depthlaw.cli.app import build_app, main

CLI = Path(__file__).resolve().parent / "cli"
INTRODUCTION = """\
# Command line

Every page here is what `depthlaw … --help` prints, turned into Markdown by `docs/generate_cli.py`.

Results go to standard output, everything else (how a table was understood, progress, errors) to standard
error, so that `depthlaw … > file` and `depthlaw … --json | jq` give the result alone.

## Exit codes

| code | meaning |
|---|---|
| 0 | done; parts that were skipped are a line in the output |
| 1 | internal error, a defect of depthlaw: `-vv` shows where |
| 2 | a flag, a name or a setting that cannot be meant |
| 3 | a file that cannot be read or written, a table with bad rows, or a difference that `--check` found |
| 4 | the fit did not converge, or the table does not determine what was asked; the rest is printed |
| 130 | interrupted; what was finished stays in the folder of `--out` |

## Settings from a file

`--config FILE` reads the settings of a command from a TOML file, under the names they have in Python;
flags win over the file, the file over the defaults. `--dry-run` prints such a file with every setting in it.

## Numbers and paths

Numbers may be written `10k`, `350M`, `7B` or `1e3`, whole ones too. A path may begin with `~`,
also in `--out=~/runs`.

## Environment variables

| variable | meaning |
|---|---|
| `DEPTHLAW_DATA` | folder of tables, looked through first |
| `DEPTHLAW_MODELS` | folder of models |
| `DEPTHLAW_CACHE` | where downloads are kept |
| `HF_HUB_OFFLINE` | set to 1, nothing is ever fetched |
| `NO_COLOR` | plain output |
"""


def pages() -> dict[str, str]:
    """Return file name → content of every page."""
    commands = [chain for chain in _commands((), build_app()) if chain]
    names = {chain: "-".join(chain) for chain in commands}
    listing = "\n".join(names.values())
    index = (
        f"{INTRODUCTION}\n## depthlaw\n\n{_rendered(_help(()))}\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n"
    )
    found = {"index.md": index}
    for chain, name in names.items():
        found[f"{name}.md"] = f"# depthlaw {' '.join(chain)}\n\n{_rendered(_help(chain))}"
    return found


def _commands(chain: tuple[str, ...], app: App) -> list[tuple[str, ...]]:
    found = [chain]
    for name in app:
        if not name.startswith("-"):
            found += _commands((*chain, name), app[name])
    return found


def _help(chain: tuple[str, ...]) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main([*chain, "--help"])
    return text.getvalue()


def _rendered(text: str) -> str:
    """Turn plain help into Markdown: sections are headings, options are definitions."""
    lines = []
    for line in text.splitlines():
        option = re.fullmatch(r"  (\S.*?): (.*)", line)
        if option:
            lines += [f"`{option[1]}`", f": {_escaped(option[2])}", ""]
        elif line.startswith("Usage: "):
            lines += ["```text", line.removeprefix("Usage: "), "```"]
        elif re.fullmatch(r"\w+:", line):
            lines += [f"## {line[:-1]}", ""]
        else:
            lines.append(_escaped(line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", r"`\1`", re.sub(r"([<*`\\])", r"\\\1", text))


if __name__ == "__main__":
    CLI.mkdir(exist_ok=True)
    current = pages()
    for path in CLI.glob("*.md"):
        if path.name not in current:
            path.unlink()
    for name, content in current.items():
        (CLI / name).write_text(content, encoding="utf-8")
