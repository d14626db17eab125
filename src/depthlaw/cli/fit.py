"""``depthlaw fit``: a table of runs → exponents with intervals, or the reasons why it cannot tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.data.runs import RunTable, read_runs
from depthlaw.errors import ExitCode
from depthlaw.laws.config import FitConfig


@Parameter(name="*", group=Group("Table", sort_key=0))
@dataclass(frozen=True)
class TableOptions:
    """How to read the table of runs.

    Attributes
    ----------
    width, depth, tokens, params, flops, loss
        Column that holds it; the usual names are recognised without.
    weights
        Column of relative weights of the rows.
    cluster
        Column that names the run a row belongs to (checkpoints of one run are not independent).
    where
        Keep only rows for which this holds, for example "loss < 3 and width >= 512".
    exclude_highest
        Keep only rows with a loss below the K-th largest.
    drop_bad
        Leave out rows with missing, infinite, zero or negative values instead of refusing the table.
    drop_duplicates
        Leave out exact copies of rows.
    """

    width: str | None = None
    depth: str | None = None
    tokens: str | None = None
    params: str | None = None
    flops: str | None = None
    loss: str | None = None
    weights: str | None = None
    cluster: str | None = None
    where: str | None = None
    exclude_highest: Annotated[int, Parameter(metavar="K")] = 0
    drop_bad: Annotated[bool, Parameter(negative="")] = False
    drop_duplicates: Annotated[bool, Parameter(negative="")] = False

    def read(self, source: Path) -> RunTable:
        """Read ``source`` with these options."""
        return read_runs(source, **vars(self))


AS_RECOGNISED = TableOptions()
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
    form = config.resolve(runs_table.columns)
    if output.dry_run:
        output.emit_plan(config, [f"fit {form} to {runs_table.n_runs} runs of {runs}"])
        return ExitCode.DONE

    from depthlaw.laws.fit import fit
    from depthlaw.report.fit import fit_payload, fit_text, table_text

    note(table_text(runs_table))
    identity = {"data": runs_table.sha256, "against": against}
    with output.run("fit", config=config, identity=identity) as folder:
        result = fit(runs_table, config)
        check = None
        if against is not None:
            from depthlaw.reproduce.points import check_point

            check = check_point(result, against)
        payload, text = fit_payload(result, check), fit_text(result, check)
        if folder is not None and not folder.complete:
            from depthlaw.report.fit_files import write_fit

            write_fit(folder, result, payload, text)
            note(f"wrote {folder.folder}")
    output.emit(payload, text)
    good = result.identified and result.certificate.converged
    return ExitCode.DONE if good else ExitCode.NOT_IDENTIFIED
