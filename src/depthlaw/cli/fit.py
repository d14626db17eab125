"""``depthlaw fit``: a table of runs → exponents with intervals, or the reasons why it cannot tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.cli.table import AS_RECOGNISED, TableOptions
from depthlaw.errors import ExitCode
from depthlaw.laws.config import FitConfig
from depthlaw.plurals import counted

DEFAULTS = FitConfig()


def fit_command(
    runs: Path,
    /,
    *,
    against: Annotated[str | None, Parameter(metavar="POINT")] = None,
    table: TableOptions = AS_RECOGNISED,
    config: Annotated[FitConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Fit a scaling law in width, depth and tokens to a table of training runs.

    Exits with 4 when the table cannot determine a parameter that was asked for; what it does determine is
    printed all the same.

    Parameters
    ----------
    runs
        CSV, TSV, JSON lines or Parquet file (gzip too), or a folder of them: one row per training run.
    against
        Hold another law against the data: "paper" for the published constants, or a saved fit.json.
    """
    runs_table = table.read(runs)
    form = config.resolve(runs_table.columns, runs_table.source, runs_table.headers)
    if output.dry_run:
        output.emit_plan(config, [f"fit {form} to {counted(runs_table.n_runs, 'run')} of {runs}"])
        return ExitCode.DONE

    from depthlaw.laws.fit import fit
    from depthlaw.report.fit import fit_payload, fit_text, table_text
    from depthlaw.reproduce.points import check_point, point_identity

    note(table_text(runs_table))
    identity = {"data": runs_table.sha256, "against": point_identity(against)}
    with output.run("fit", config=config, identity=identity) as folder:
        result = fit(runs_table, config)
        check = None
        if against is not None:
            check = check_point(result, against)
        payload, text = fit_payload(result, check), fit_text(result, check)
        if folder is not None and not folder.complete:
            from depthlaw.report.fit_files import write_fit

            write_fit(folder, result, payload, text)
            note(f"wrote {folder.folder}")
    output.emit(payload, text)
    good = result.identified and result.certificate.converged
    return ExitCode.DONE if good else ExitCode.NOT_IDENTIFIED
