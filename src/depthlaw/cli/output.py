"""The output options that every verb shares, and how results leave the process.

Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from depthlaw.data.config import dump, to_dict
from depthlaw.data.jsonio import json_text
from depthlaw.errors import OutputError, cannot_write

if TYPE_CHECKING:
    from depthlaw.data.store import Run


GROUP = Group("Output", sort_key=2)


@Parameter(name="*", group=GROUP)
@dataclass(frozen=True)
class Format:
    """In which form a result is written; for verbs that keep nothing.

    Attributes
    ----------
    json
        Write one JSON object to standard output instead of text.
    """

    json: Annotated[bool, Parameter(negative="", show_default=False)] = False

    def emit(self, payload: Mapping[str, Any], text: str, *, schema: int = 1) -> None:
        """Write a result to stdout, as JSON or as text, whichever was asked for.

        Parameters
        ----------
        payload
            The result for programs; ``schema`` is put in front.
        text
            The same for people.
        schema
            Version of the payload's form, raised when a key changes its meaning.
        """
        whole = json_text({"schema": schema, **payload}) if self.json else text
        write_stdout(whole if whole.endswith("\n") else f"{whole}\n")


@Parameter(name="*", group=GROUP)
@dataclass(frozen=True)
class Output(Format):
    """Where results go and in which form; for verbs that compute something.

    Attributes
    ----------
    json
        Write one JSON object to standard output instead of text.
    out
        Folder to keep the results in; the same command continues or reuses what is there.
    dry_run
        Say what would be done, with all settings, and do nothing.
    resume
        Use what --out already holds; --no-resume starts over.
    """

    out: Annotated[Path | None, Parameter(metavar="DIR")] = None
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False
    resume: bool = True

    def emit_plan(self, config: Any, steps: Sequence[str]) -> None:
        """Write what a dry run says: the steps, and all settings as a file that ``--config`` takes.

        Parameters
        ----------
        config
            The verb's config dataclass.
        steps
            What would be done, one line each.
        """
        comments = "".join(f"# {step}\n" for step in steps)
        payload = {"dry_run": True, "steps": list(steps), "config": to_dict(config)}
        self.emit(payload, f"{comments}\n{dump(config)}")

    def run(self, verb: str, **what: Any) -> AbstractContextManager[Run | None]:
        """Open the run folder of ``--out``, or nothing without one.

        Takes what `depthlaw.data.store.open_run` takes, and raises what that raises.
        """
        if self.out is None:
            return nullcontext()
        from depthlaw.data.store import open_run

        return open_run(self.out, verb=verb, resume=self.resume, **what)


TEXT = Format()
TO_TERMINAL = Output()
"""The default: text on stdout, nothing kept."""


def note(text: str) -> None:
    """Write a line for people to stderr."""
    sys.stderr.write(f"{text}\n")


def write_stdout(text: str) -> None:
    """Write to stdout; when its reader has gone away (``| head``), go on in silence.

    Raises
    ------
    OutputError
        When it cannot be written: a full disk behind ``> FILE``.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except OSError as error:
        discard_stdout()
        said = cannot_write("standard output", error)
        raise OutputError(said.message, "Send the output elsewhere, or free some space there.") from error


class Stdout(io.TextIOBase):
    """Stdout for libraries that write to a file, with what `write_stdout` does when it cannot be written."""

    def write(self, text: str) -> int:
        """Write ``text``."""
        write_stdout(text)
        return len(text)


def open_closed_streams() -> None:
    """Let a stream that the caller has closed (``>&-``) lead nowhere; Python leaves ``None`` in its place."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def discard_stdout() -> None:
    """Send stdout to nowhere, so that flushing it when the process ends does not complain either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
