"""Every error that depthlaw raises on purpose, its exit code, the notices that results carry, and how
unknown names, files that cannot be read and places that cannot be written are answered.

An error says what failed, the offending value, and what to do about it, in at most three lines.
"""

from __future__ import annotations

import difflib
import errno
import functools
import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeVar, cast


class ExitCode(IntEnum):
    """What the process returns; documented in the CLI pages and relied on by job scripts."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    FAILED = 3
    NOT_IDENTIFIED = 4
    INTERRUPTED = 130


class DepthlawError(Exception):
    """Base of all errors that are the caller's to mend.

    Parameters
    ----------
    message
        What failed and the offending value, one or two lines.
    hint
        What to do about it, one line; ``None`` when the message already says it.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n{self.hint}"


class UsageError(DepthlawError):
    """A flag, a name or a combination of them that cannot be meant (exit 2)."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """A configuration file, or a run directory made with another configuration (exit 2)."""


class InputError(DepthlawError):
    """Something the user named cannot be read or used: a file, a table, a model (exit 3)."""

    exit_code = ExitCode.FAILED


class OutputError(DepthlawError):
    """A result cannot be written: no permission, no space, not a directory (exit 3)."""

    exit_code = ExitCode.FAILED


class FitError(DepthlawError):
    """The data cannot answer the question, or the optimiser did not converge (exit 4)."""

    exit_code = ExitCode.NOT_IDENTIFIED


@dataclass(frozen=True)
class Notice:
    """Something the reader of a result must know, but that does not stop the work.

    Attributes
    ----------
    code
        Stable name for programs (``"duplicate-rows"``).
    message
        One line for people, however many rows it is about.
    rows
        The rows it is about, as line numbers in the source file; empty when it is about the whole.
    """

    code: str
    message: str
    rows: tuple[int, ...] = ()


def did_you_mean(name: str, valid: Iterable[str]) -> str | None:
    """Return the valid name nearest to ``name``, or ``None`` when none is near.

    >>> did_you_mean("n_layer", ["d_model", "n_layers"])
    'n_layers'
    """
    by_fold = {candidate.casefold(): candidate for candidate in valid}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.65)
    return by_fold[near[0]] if near else None


def unknown_name(what: str, name: str, valid: Iterable[str], *, flag: str = "") -> UsageError:
    """Build the error for a name that is not one of ``valid``: lists them and suggests the nearest.

    Parameters
    ----------
    what
        What kind of name this is, as a person would say it: ``"column"``, ``"preset"``.
    flag
        Command-line flag to repeat in the suggestion (``"--depth"``), empty for none.
    """
    names = list(valid)
    listing = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    near = did_you_mean(name, names)
    hint = None if near is None else f"Did you mean {f'{flag} {near}'.strip()}?"
    return UsageError(f'{what} "{name}" not found (have: {listing or "none"}).', hint)


F = TypeVar("F", bound=Callable[..., Any])


def suggesting(function: F) -> F:
    """Decorator: answer an argument that a function does not have with the nearest one that it has."""
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: Any, **settings: Any) -> Any:
        for name in settings:
            if name not in names:
                raise unknown_name(f"argument of {function.__name__}", name, names)
        return function(*args, **settings)

    return cast(F, checked)


def cannot_read(path: str | Path, error: OSError | UnicodeError | ValueError) -> InputError:
    """Build the error for a file or folder that was named and cannot be read.

    Parameters
    ----------
    error
        What reading it raised: of the system, of decoding, or of a path with a null byte in it.
    """
    if isinstance(error, FileNotFoundError):
        return no_such_file(path)
    if isinstance(error, UnicodeError):
        return InputError(f"{path}: cannot be read (not UTF-8 text).")
    if isinstance(error, OSError):
        return InputError(f"{path}: cannot be read ({(error.strerror or str(error)).lower()}).")
    return InputError(f"{str(path)!r}: is not a path ({error}).")


def no_such_file(path: str | Path, otherwise: str | None = None) -> InputError:
    """Build the error for a path where there is nothing: suggests its neighbour of the nearest name.

    Parameters
    ----------
    otherwise
        What to advise when no neighbour is near.
    """
    place = Path(path)
    try:
        near = did_you_mean(place.name, os.listdir(place.parent))
    except (OSError, ValueError):
        near = None
    hint = otherwise if near is None else f"Did you mean {place.parent / near}?"
    return InputError(f"{path}: there is no such file or folder.", hint)


ELSEWHERE = "Choose another place (--out DIR)."
_REASONS = {
    errno.ENOSPC: ("no space left on the device", "Free some space and run the same command again."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space and run the same command again."),
    errno.EFBIG: ("the file would exceed the size limit (ulimit -f)", "Raise the limit and run again."),
    errno.EACCES: ("permission denied", ELSEWHERE),
    errno.EPERM: ("permission denied", ELSEWHERE),
    errno.EROFS: ("the file system is read-only", ELSEWHERE),
    errno.ENOTDIR: ("a file stands where a folder is needed", ELSEWHERE),
    errno.EEXIST: ("a file stands where a folder is needed", ELSEWHERE),
    errno.EISDIR: ("it is a folder, not a file", ELSEWHERE),
}


def cannot_write(path: str | Path, error: OSError) -> OutputError:
    """Build the error for a place that the operating system refuses to write, with a way out."""
    reason, hint = _REASONS.get(error.errno or 0, (error.strerror or str(error), ELSEWHERE))
    return OutputError(f"cannot write {path}: {reason}.", hint)
