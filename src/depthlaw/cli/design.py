"""``depthlaw design``: which runs to train next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from depthlaw.cli.law import AS_SAVED, LawOptions, identity_of
from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.errors import ExitCode
from depthlaw.planning.design_config import DesignConfig


def design_command(
    law: Path,
    /,
    *,
    config: Annotated[DesignConfig, SETTINGS],
    file: ConfigFile = NO_FILE,
    options: LawOptions = AS_SAVED,
    output: Output = TO_TERMINAL,
) -> int:
    """Choose the runs to train next, so that an exponent or the best depth becomes best known.

    Lists them with their cost, and the interval to expect afterwards.

    Parameters
    ----------
    law
        A table of runs, or a saved fit of one (fit.json, or the folder that depthlaw fit --out wrote).
    """
    fitted = options.load(law, level=config.level, seed=config.seed)
    if output.dry_run:
        output.emit_plan(
            config, [f"design for {fitted.form}, fitted to {fitted.n_runs} runs of {fitted.source}"]
        )
        return ExitCode.DONE

    from depthlaw.planning.design import design
    from depthlaw.report.design import design_payload, design_text

    with output.run("design", config=config, identity={"law": identity_of(fitted)}) as folder:
        result = design(fitted, config)
        payload, text = design_payload(fitted, result), design_text(fitted, result)
        if folder is not None and not folder.complete:
            from depthlaw.report.plan_files import write_design

            write_design(folder, fitted, result, payload, text)
            note(f"wrote {folder.folder}")
    output.emit(payload, text)
    return ExitCode.DONE
