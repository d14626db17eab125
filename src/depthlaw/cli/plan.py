"""``depthlaw plan``: the best width, depth and tokens under a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.law import AS_SAVED, LawOptions, identity_of
from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.errors import ExitCode
from depthlaw.planning.plan_config import PlanConfig

DEFAULTS = PlanConfig()


def plan_command(
    law: Path,
    /,
    *,
    against: Annotated[str | None, Parameter(metavar="POINT")] = None,
    config: Annotated[PlanConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    options: LawOptions = AS_SAVED,
    output: Output = TO_TERMINAL,
) -> int:
    """Find the best width and depth (and tokens) under a budget of parameters or compute, with intervals.

    Says how flat the loss is around them, which shapes can be built, and what other shapes lose. Exits with 4
    when the fit does not determine how to share parameters between width and depth.

    Parameters
    ----------
    law
        A saved fit (fit.json, or the folder that depthlaw fit --out wrote), or a table of runs to fit first.
    against
        Also plan with another law: "paper" for the published constants, or a saved fit.json.
    """
    config.require_budget()
    fitted = options.load(law, level=config.level, seed=config.seed)
    if output.dry_run:
        output.emit_plan(
            config, [f"plan with {fitted.form}, fitted to {fitted.n_runs} runs of {fitted.source}"]
        )
        return ExitCode.DONE

    from depthlaw.planning.plan import plan
    from depthlaw.report.plan import plan_payload, plan_text
    from depthlaw.reproduce.points import named_point, point_identity

    identity = {"law": identity_of(fitted), "against": point_identity(against)}
    with output.run("plan", config=config, identity=identity) as folder:
        result = plan(fitted, config)
        payload, text = plan_payload(fitted, result), plan_text(fitted, result)
        if against is not None:
            from depthlaw.planning.plan import best_under
            from depthlaw.report.plan import other_text

            values, label = named_point(fitted, against)
            other = best_under(fitted, config, values)
            payload["against"] = {"name": label, **other}
            text += "\n" + other_text(label, other)
        if folder is not None and not folder.complete:
            from depthlaw.report.plan_files import write_plan

            write_plan(folder, fitted, result, payload, text)
            note(f"wrote {folder.folder}")
    output.emit(payload, text)
    return ExitCode.DONE
