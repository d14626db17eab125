from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Literal

import pytest
from cyclopts import Parameter

from depthlaw import __version__
from depthlaw.cli import main
from depthlaw.cli.app import VERBS, build_app, run, take_verbosity
from depthlaw.data.store import open_run
from depthlaw.errors import FitError, InputError

Printed = pytest.CaptureFixture[str]


def python(code: str, **options: object) -> subprocess.Popen[str]:
    """Start a Python process running ``code``, with its streams as pipes."""
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def fails_with(error: BaseException, *argv: str) -> int:
    app = build_app()

    @app.command
    def fail() -> None:
        """Fail."""
        raise error

    return run(app, ["fail", *argv])


def test_help_lists_every_verb_on_stdout(capsys: Printed) -> None:
    assert main(["--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for verb, (_, line) in VERBS.items():
        assert f"{verb}: {line}" in out
    assert "\x1b" not in out


def test_version(capsys: Printed) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["shwo"],
            f'depthlaw: unknown command "shwo" (have: {", ".join(VERBS)}).\nDid you mean show?\n',
        ),
        (["show", "evn"], 'depthlaw: show: unknown command "evn" (have: env).\nDid you mean env?\n'),
        (["show", "xyz"], 'depthlaw: show: unknown command "xyz" (have: env).\nSee depthlaw show --help.\n'),
        (["show", "env", "--jsn"], "depthlaw: show env: unknown option --jsn.\nDid you mean --json?\n"),
        (["show", "env", "-q"], "depthlaw: show env: unknown option -q.\nSee depthlaw show env --help.\n"),
        (["show", "env", "x"], 'depthlaw: show env: unexpected "x".\nSee depthlaw show env --help.\n'),
        (["--jsn"], "depthlaw: unknown option --jsn.\nSee depthlaw --help.\n"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_exit_2(argv: list[str], said: str, capsys: Printed) -> None:
    assert main(argv) == 2
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "depthlaw: try: RUNS is missing."),
        (["runs.csv", "--starts"], "depthlaw: try: --starts needs a value."),
        (
            ["runs.csv", "--starts", "1.5"],
            'depthlaw: try: --starts takes a whole number, not "1.5".\nFor example 1000, 10k or 1e3.\n',
        ),
        (["runs.csv", "--starts", "many"], "depthlaw: try: --starts takes a whole number, not"),
        (["runs.csv", "--sizes", "1", "2.0"], "depthlaw: try: --sizes takes a whole number, not"),
        (["runs.csv", "--batch", "2.5"], "depthlaw: try: --batch takes a whole number, not"),
        (
            ["runs.csv", "--starts", "1", "--starts", "2"],
            "depthlaw: try: parameter --starts specified multiple",
        ),
        (["runs.csv", "--form", "parms"], 'depthlaw: try: invalid value "parms" for --form. Choose from:'),
    ],
)
def test_wrong_and_missing_values_are_exit_2(argv: list[str], said: str, capsys: Printed) -> None:
    app = build_app()

    @app.command(name="try")
    def attempt(
        runs: Path,
        /,
        *,
        starts: int = 64,
        sizes: tuple[int, ...] = (),
        form: Literal["params", "width"] = "params",
        batch: int | Literal["auto"] = "auto",
    ) -> None:
        """Try."""

    assert run(app, ["try", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") <= 3


def test_a_choice_close_to_a_valid_one_gets_it_suggested(capsys: Printed) -> None:
    app = build_app()

    @app.command(name="try")
    def attempt(*, form: Annotated[Literal["params", "width"], Parameter()] = "params") -> None:
        """Try."""

    assert run(app, ["try", "--form", "parms"]) == 2
    assert capsys.readouterr().err.endswith('\nDid you mean "params"?\n')


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("runs.csv: empty.", "Name another."), 3, "depthlaw: runs.csv: empty.\nName another.\n"),
        (FitError("one depth only."), 4, "depthlaw: one depth only.\n"),
        (KeyboardInterrupt(), 130, "depthlaw: interrupted; nothing is kept.\n"),
    ],
)
def test_errors_are_lines_on_stderr_with_their_code(
    error: BaseException, code: int, said: str, capsys: Printed
) -> None:
    assert fails_with(error) == code
    assert capsys.readouterr() == ("", said)


def test_an_unforeseen_error_is_one_line_and_a_way_to_the_rest(capsys: Printed) -> None:
    assert fails_with(ZeroDivisionError("a\nb")) == 1
    err = capsys.readouterr().err
    assert err.startswith("depthlaw: internal error: ZeroDivisionError: a b (test_app.py, line ")
    assert err.endswith("\nRun again with -vv for the traceback.\n")
    assert err.count("\n") == 2


def test_the_traceback_comes_with_vv_only(capsys: Printed) -> None:
    fails_with(InputError("runs.csv: empty."), "-v")
    assert "Traceback" not in capsys.readouterr().err
    for flags in (["-vv"], ["-v", "-v"], ["-v", "--verbose"]):
        fails_with(InputError("runs.csv: empty."), *flags)
        assert "Traceback" in capsys.readouterr().err


def test_verbosity_is_read_anywhere_before_the_end_of_options() -> None:
    assert take_verbosity(["-v", "fit", "a", "-vv"]) == (["fit", "a"], 3)
    assert take_verbosity(["fit", "--", "-v"]) == (["fit", "--", "-v"], 0)
    assert take_verbosity(["fit", "--where", "-1", "-vx"]) == (["fit", "--where", "-1", "-vx"], 0)


def test_v_shows_what_the_library_logs(capsys: Printed) -> None:
    app = build_app()

    @app.command
    def talk() -> None:
        """Talk."""
        logging.getLogger("depthlaw.data").info("reading")

    assert run(app, ["talk"]) == 0
    assert capsys.readouterr() == ("", "")
    assert run(app, ["talk", "-v"]) == 0
    assert capsys.readouterr() == ("", "reading\n")


def test_a_command_may_return_its_exit_code(capsys: Printed) -> None:
    app = build_app()

    @app.command
    def answer() -> int:
        """Answer."""
        return 4

    assert run(app, ["answer"]) == 4


def test_a_reader_that_goes_away_gets_no_complaint() -> None:
    code = "import sys; from depthlaw.cli import main; sys.exit(main(['show', 'env']))"
    process = python(code, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["show", "env"], ["show", "env", "--json"], ["--help"], ["--version"]])
def test_a_full_disk_behind_stdout_is_one_clear_error(words: list[str]) -> None:
    code = f"import sys; from depthlaw.cli import main; sys.exit(main({words}))"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.stderr == (
        "depthlaw: cannot write standard output: no space left on the device.\n"
        "Send the output elsewhere, or free some space there.\n"
    )
    assert done.returncode == 3


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_closed_streams_lead_nowhere() -> None:
    command = f"{shlex.quote(sys.executable)} -m depthlaw show env"
    for closed in (">&-", ">&- 2>&-"):
        assert subprocess.run(f"{command} {closed}", shell=True).returncode == 0


@pytest.mark.parametrize("words", [["fit", ""], ["fit", " "], ["fit", "x.csv", "--out", ""]])
def test_an_empty_path_is_not_the_current_folder(words: list[str], capsys: Printed) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "is empty; a path is expected.\n" in err
    assert len(err.splitlines()) == 2


def test_pairs_given_twice_are_told_how_to_give_several(capsys: Printed) -> None:
    assert main(["fit", "x.csv", "--fix", "a=1", "--fix", "b=2"]) == 2
    assert capsys.readouterr().err == (
        "depthlaw: fit: --fix is given several times.\nGive all at once, with commas: --fix a=1,b=2\n"
    )


def test_ctrl_c_in_a_running_command_is_130() -> None:
    process = python("""
        import signal, sys, time
        from depthlaw.cli.app import build_app, run

        # Tests started in the background by a shell inherit an ignored Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        app = build_app()

        @app.command
        def wait():
            print("ready", flush=True)
            time.sleep(60)

        sys.exit(run(app, ["wait"]))
    """)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "depthlaw: interrupted; nothing is kept.\n"


def test_ctrl_c_while_the_command_line_is_loaded_is_quiet() -> None:
    process = python("""
        import builtins, sys
        from depthlaw.cli import main

        real = builtins.__import__

        def interrupted(name, *rest, **more):
            if name == "cyclopts":
                raise KeyboardInterrupt
            return real(name, *rest, **more)

        builtins.__import__ = interrupted
        sys.exit(main(["show", "env"]))
    """)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "depthlaw: interrupted; nothing is kept.\n")


def test_ctrl_c_says_what_run_folders_keep(tmp_path: Path, capsys: Printed) -> None:
    app = build_app()

    @app.command
    def work(*, files: int) -> None:
        """Work."""
        with open_run(tmp_path, verb="work", config={}) as folder:
            for number in range(files):
                folder.write_text(f"{number}.txt", "so far")
            raise KeyboardInterrupt

    assert run(app, ["work", "--files", "0"]) == 130
    assert capsys.readouterr().err == "depthlaw: interrupted; nothing is kept.\n"
    assert run(app, ["work", "--files", "1"]) == 130
    said = f"{tmp_path} keeps what was finished: the same command goes on from there."
    assert capsys.readouterr().err == f"depthlaw: interrupted.\n{said}\n"


def test_signs_that_a_terminal_cannot_show_do_not_stop_the_work() -> None:
    process = python(
        """
        from depthlaw.cli.app import build_app, run
        from depthlaw.cli.output import TEXT

        app = build_app()

        @app.command
        def greek():
            TEXT.emit({}, "alpha is α\\n")

        raise SystemExit(run(app, ["greek"]))
        """,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "alpha is \\u03b1\n", "")


def test_python_m_depthlaw_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "depthlaw", "show", "env", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["schema"] == 1
    assert done.stderr == ""
