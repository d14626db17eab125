"""Errors on the command line: one printer, at most three lines, and the exit code that goes with it."""

from __future__ import annotations

import re
import traceback as tracebacks
from pathlib import Path

from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from depthlaw.errors import DepthlawError, ExitCode, did_you_mean

_NUMBERS = {int: ("a whole number", "1000, 10k or 1e3"), float: ("a number", "0.5, 1e-3 or 7B")}


def exit_code(error: BaseException) -> ExitCode:
    """Return what the process returns for ``error``."""
    if isinstance(error, DepthlawError):
        return error.exit_code
    if isinstance(error, CycloptsError):
        return ExitCode.USAGE
    return ExitCode.INTERRUPTED if isinstance(error, KeyboardInterrupt) else ExitCode.INTERNAL


def explain(error: BaseException, *, traceback: bool = False) -> str:
    """Return the lines for stderr: what failed, and what to do about it.

    Parameters
    ----------
    traceback
        Whether to put the Python traceback before them.
    """
    lines: list[str | None]
    if isinstance(error, DepthlawError):
        lines = [error.message, error.hint]
    elif isinstance(error, CycloptsError):
        lines = _usage(error)
    elif isinstance(error, KeyboardInterrupt):
        kept = getattr(error, "__notes__", [])  # by the run folders that were open, see `open_run`
        lines = ["interrupted." if kept else "interrupted; nothing is kept.", *kept[:2]]
    else:
        lines = [
            f"internal error: {_one_line(error)}{_place(error)}",
            "Run again with -vv for the traceback.",
        ]
    above = "".join(tracebacks.format_exception(error)) if traceback else ""
    return above + "depthlaw: " + "".join(f"{line}\n" for line in lines if line)


def _usage(error: CycloptsError) -> list[str | None]:
    """Put a parser's error in our words. `str` of some would import every verb, for its suggestions."""
    chain = " ".join(error.command_chain or ())
    verb = f"{chain}: " if chain else ""
    help_line = f"See {' '.join(['depthlaw', chain]).strip()} --help."
    if isinstance(error, UnknownCommandError):
        name = (error.unused_tokens or ["?"])[0]
        verbs = [known for known in error.app or () if not known.startswith("-")]
        if name.startswith("-"):
            return [f"{verb}unknown option {name}.", help_line]
        near = did_you_mean(name, verbs)
        return [
            f'{verb}unknown command "{name}" (have: {", ".join(verbs)}).',
            f"Did you mean {near}?" if near else help_line,
        ]
    if isinstance(error, UnknownOptionError):
        name = error.token.keyword or error.token.value
        near = did_you_mean(name, [known for arg in error.argument_collection for known in arg.names])
        return [f"{verb}unknown option {name}.", f"Did you mean {near}?" if near else help_line]
    if isinstance(error, UnusedCliTokensError):
        return [f'{verb}unexpected "{(error.unused_tokens or ["?"])[0]}".', help_line]
    if isinstance(error, MissingArgumentError) and type(error) is MissingArgumentError and error.argument:
        name = error.keyword or error.argument.name
        needed, given = error.argument.token_count()[0], len(error.tokens_so_far)
        if needed > 1 and given:
            return [f"{verb}{name} needs {needed} values, not {given}.", help_line]
        return [
            f"{verb}{name} needs a value." if name.startswith("-") else f"{verb}{name} is missing.",
            help_line,
        ]
    if isinstance(error, RepeatArgumentError) and re.fullmatch(r"[\w.]+=[^=].*", error.token.value):
        flag = error.token.keyword
        return [f"{verb}{flag} is given several times.", f"Give all at once, with commas: {flag} a=1,b=2"]
    if isinstance(error, CoercionError) and error.token and error.target_type in _NUMBERS:
        kind, examples = _NUMBERS[error.target_type]
        name = error.token.keyword or (error.argument.name if error.argument else "a value")
        return [f'{verb}{name} takes {kind}, not "{error.token.value}".', f"For example {examples}."]
    said, _, advice = " ".join(str(error).split()).partition(" Did you mean ")
    return [f"{verb}{said[:1].lower()}{said[1:]}", f"Did you mean {advice}" if advice else help_line]


def _one_line(error: BaseException) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return text if len(text) <= 200 else f"{text[:199]}…"


def _place(error: BaseException) -> str:
    frames = tracebacks.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
