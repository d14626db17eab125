"""The ``depthlaw`` command: its verbs, its global flags, and what a process returns."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Sequence
from typing import TextIO, cast

from cyclopts import App, Parameter

from depthlaw import __version__
from depthlaw.cli.errors import exit_code, explain
from depthlaw.cli.output import Stdout, discard_stdout, open_closed_streams
from depthlaw.cli.settings import CONVENTIONS
from depthlaw.cli.signals import ended_like_ctrl_c
from depthlaw.errors import ExitCode

VERBS = {
    "fit": ("depthlaw.cli.fit:fit_command", "Fit a scaling law to a table of training runs."),
    "compare": ("depthlaw.cli.compare:compare_command", "Hold several forms of the law side by side."),
    "sensitivity": (
        "depthlaw.cli.sensitivity:sensitivity_command",
        "Show how exponents move with choices that the data do not make.",
    ),
    "lab": ("depthlaw.cli.lab:lab_app", "Train students on teachers whose use of depth is known."),
    "predict": ("depthlaw.cli.predict:predict_command", "Predict a loss, or what reaches it."),
    "plan": ("depthlaw.cli.plan:plan_command", "Find the best width and depth under a budget."),
    "design": ("depthlaw.cli.design:design_command", "Choose which runs to train next."),
    "probe": ("depthlaw.cli.probe:probe_command", "Measure how a language model uses its depth, on text."),
    "family": (
        "depthlaw.cli.family:family_command",
        "Fit how the middle angle falls with depth over probes.",
    ),
    "trace": ("depthlaw.cli.trace:trace_command", "Find which states of a model bring a fact back."),
    "ablate": (
        "depthlaw.cli.ablate:ablate_command",
        "Run a model with blocks skipped, swapped, repeated or reordered.",
    ),
    "reproduce": ("depthlaw.cli.reproduce:reproduce_command", "Recompute published numbers and figures."),
    "report": (
        "depthlaw.cli.report:report_command",
        "Write one page of everything that a folder of runs holds.",
    ),
    "show": ("depthlaw.cli.show:show_app", "Show what depthlaw sees: the environment."),
}
"""Each verb: where it lives, imported on first use, and its line in ``depthlaw --help``."""

_HELP = "Measure how neural networks use their depth: scaling laws in width, depth and tokens."
_EPILOGUE = "Any command also takes -v (say more) and -vv (say all, with the traceback of an error)."


def build_app() -> App:
    """Return a fresh application with the conventions that every verb shares.

    Lists take several values after one flag, flags win over ``--config`` files, and errors are raised, for
    `run` to print.
    """
    terminal = sys.stdout.isatty()
    app = App(
        name="depthlaw",
        help=_HELP,
        help_epilogue=_EPILOGUE,
        # Panels are for people at a terminal; pipes and the documentation get plain lines.
        help_formatter="default" if terminal else "plain",
        version=__version__,
        version_format="plaintext",
        default_parameter=Parameter(consume_multiple=True, negative_iterable=()),
        config=CONVENTIONS,
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    if not terminal:
        from rich.console import Console

        app.console = Console(file=cast(TextIO, Stdout()), width=1000)  # one line an option, never wrapped
    for name, (place, line) in VERBS.items():
        app.command(place, name=name, help=line)
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        The words after the program's name; ``None`` takes the process's own.

    Returns
    -------
    int
        The exit code, see `depthlaw.errors.ExitCode`. Errors are printed, not raised.
    """
    open_closed_streams()
    return run(build_app(), sys.argv[1:] if argv is None else argv)


def run(app: App, argv: Sequence[str]) -> int:
    """Run ``app`` on ``argv`` and return its exit code; any error becomes a few lines on stderr."""
    words, verbosity = take_verbosity(argv)
    _set_up_streams(verbosity)
    try:
        with ended_like_ctrl_c():
            code = app(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (| head) and wants no complaint, only an end.
        discard_stdout()
        return ExitCode.INTERNAL
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else ExitCode.INTERNAL
    except (Exception, KeyboardInterrupt) as error:
        sys.stderr.write(explain(error, traceback=verbosity >= 2))
        return exit_code(error)
    return code if isinstance(code, int) else ExitCode.DONE


def take_verbosity(argv: Sequence[str]) -> tuple[list[str], int]:
    """Take ``-v``, ``-vv`` and ``--verbose`` out of ``argv``, wherever they stand, and count them.

    They are read here, not by the verbs, so that they also work when a command line cannot be parsed.
    """
    words = list(argv)
    end = words.index("--") if "--" in words else len(words)
    flags = [word for word in words[:end] if re.fullmatch(r"-v+|--verbose", word)]
    rest = [word for word in words[:end] if word not in flags] + words[end:]
    return rest, sum(1 if flag == "--verbose" else len(flag) - 1 for flag in flags)


def _set_up_streams(verbosity: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        # Names and signs of the field are not ASCII: show an escape rather than fail on an old terminal.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logger = logging.getLogger("depthlaw")
    logger.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)])
    logger.handlers = [logging.StreamHandler(sys.stderr)]
