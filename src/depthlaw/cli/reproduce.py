"""``depthlaw reproduce``: the paper's experiments beside its published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.output import TO_TERMINAL, Output, note, write_stdout
from depthlaw.data.store import open_run
from depthlaw.errors import ExitCode
from depthlaw.report.outcomes import outcome_text, outcomes_payload
from depthlaw.reproduce.outcome import Outcome, Verdict
from depthlaw.reproduce.registry import Scale, select

DEFAULT_OUT = Path("depthlaw-reproduce")


def reproduce_command(
    ids: tuple[str, ...] = (),
    /,
    *,
    scale: Scale = "small",
    list_only: Annotated[bool, Parameter(name="--list", negative="")] = False,
    check: Annotated[bool, Parameter(negative="")] = False,
    output: Output = TO_TERMINAL,
) -> int:
    """Recompute the paper's numbers and figures: published value, ours, difference, verdict.

    Results go to --out, by default the folder depthlaw-reproduce.

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
    """
    chosen = select(ids)
    if list_only or output.dry_run:
        payload = {"experiments": [{"id": e.id, "title": e.title} for e in chosen]}
        output.emit(payload, "".join(f"{e.id:<8} {e.title}\n" for e in chosen))
        return ExitCode.DONE
    out = output.out or DEFAULT_OUT
    # A folder nobody chose is a scratch pad: another scale or table starts it over.
    resume = output.resume and output.out is not None
    outcomes = []
    for experiment in chosen:
        outcome = experiment.run(scale)
        _write(out / experiment.id, outcome, scale, resume=resume)
        outcomes.append(outcome)
        if not output.json:
            write_stdout(outcome_text(outcome) + "\n")
    if output.json:
        output.emit(outcomes_payload(outcomes), "")
    note(f"results in {out}")
    differs = any(o.verdict is Verdict.DIFFERS for o in outcomes)
    return ExitCode.FAILED if check and differs else ExitCode.DONE


def _write(folder: Path, outcome: Outcome, scale: Scale, *, resume: bool) -> None:
    config = {"experiment": outcome.id, "scale": scale}
    identity = {"input": outcome.input}
    with open_run(folder, verb="reproduce", config=config, identity=identity, resume=resume) as run:
        if run.complete:
            return
        for files in outcome.figures.values():
            for name, data in files.items():
                run.write_bytes(name, data)
        for name, (columns, units) in outcome.tables.items():
            run.write_table(name, columns, units=units)
        run.write_text("outcome.txt", outcome_text(outcome))
        run.write_json("outcome.json", outcomes_payload([outcome]))
