"""``depthlaw reproduce``: the paper's experiments beside its published numbers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.output import TO_TERMINAL, Output, note, write_stdout
from depthlaw.errors import ExitCode
from depthlaw.report.outcomes import outcome_text, outcomes_payload, summary_text
from depthlaw.reproduce.outcome import Outcome, Verdict
from depthlaw.reproduce.registry import Scale, select
from depthlaw.reproduce.running import run_all

DEFAULT_OUT = Path("depthlaw-reproduce")


def reproduce_command(
    ids: tuple[str, ...] = (),
    /,
    *,
    scale: Scale = "small",
    list_only: Annotated[bool, Parameter(name="--list", negative="")] = False,
    check: Annotated[bool, Parameter(negative="")] = False,
    jobs: int = 1,
    output: Output = TO_TERMINAL,
) -> int:
    """Recompute the paper's numbers and figures: published value, ours, difference, verdict.

    Each experiment is kept in a folder of its id below --out (by default depthlaw-reproduce/SCALE), and the
    same command goes on where it was stopped. What cannot run here is skipped with the reason.

    Parameters
    ----------
    ids
        Experiments such as fig2f; a beginning such as fig2 selects all of them; none selects all.
    scale
        How much to run: smoke (seconds), small (minutes), paper (the paper's own protocol).
    list_only
        List the experiments and stop.
    check
        Exit with 3 if a number differs from the published one by more than its tolerance.
    jobs
        Experiments to run at a time, each in a process with its share of the cores.
    """
    chosen = select(ids)
    if list_only or output.dry_run:
        payload = {"experiments": [{"id": e.id, "title": e.title} for e in chosen]}
        output.emit(payload, "".join(f"{e.id:<8} {e.title}\n" for e in chosen))
        return ExitCode.DONE
    out = output.out or DEFAULT_OUT / scale
    _show_progress()
    outcomes: list[Outcome] = []
    found = run_all(
        chosen,
        scale,
        out,
        jobs=jobs,
        resume=output.resume,
        strict=output.out is not None,
        begun=lambda experiment: note(f"{experiment.id}: {experiment.title}"),
    )
    try:
        for outcome in found:
            outcomes.append(outcome)
            if not output.json:
                write_stdout(outcome_text(outcome) + "\n")
    except KeyboardInterrupt as error:
        if outcomes:
            kept = f"{len(outcomes)} of {len(chosen)} experiments"
            error.add_note(f"{out} keeps {kept}: the same command goes on with the others.")
        raise
    if output.json:
        output.emit(outcomes_payload(outcomes), "")
    else:
        write_stdout(summary_text(outcomes))
    note(f"results in {out}; one page of them: depthlaw report {out}")
    return _code(outcomes, check=check)


def _code(outcomes: Sequence[Outcome], *, check: bool) -> ExitCode:
    verdicts = {outcome.verdict for outcome in outcomes}
    bad = Verdict.FAILED in verdicts or (check and Verdict.DIFFERS in verdicts)
    return ExitCode.FAILED if bad else ExitCode.DONE


def _show_progress() -> None:
    """Let training say every 30 seconds how far it is, whether or not -v was given."""
    logger = logging.getLogger("depthlaw.reproduce")
    logger.setLevel(min(logger.getEffectiveLevel(), logging.INFO))
