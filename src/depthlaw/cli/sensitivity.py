"""``depthlaw sensitivity``: exponents along choices that the data do not make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.cli.table import AS_RECOGNISED, TableOptions
from depthlaw.errors import ExitCode
from depthlaw.laws.sensitivity import KNOBS, SensitivityConfig, sensitivity
from depthlaw.report.fit import table_text
from depthlaw.report.sensitivity import sensitivity_payload, sensitivity_text, write_sensitivity

DEFAULTS = SensitivityConfig()


def sensitivity_command(
    runs: Path,
    /,
    *,
    table: TableOptions = AS_RECOGNISED,
    config: Annotated[SensitivityConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Show how exponents move with choices that the data do not make.

    Rows left out, the depth offset, the objective, subsets of shapes, single runs: the curve, not the number.

    Parameters
    ----------
    runs
        CSV, TSV, JSON lines or Parquet file (gzip too), or a folder of them: one row per training run.
    """
    runs_table = table.read(runs)
    if output.dry_run:
        output.emit_plan(
            config, [f"fit {runs_table.n_runs} runs of {runs} along {k}" for k in config.vary or KNOBS]
        )
        return ExitCode.DONE
    note(table_text(runs_table))
    with output.run("sensitivity", config=config, identity={"data": runs_table.sha256}) as folder:
        curves = sensitivity(runs_table, config, progress=note)
        if folder is not None and not folder.complete:
            write_sensitivity(folder, curves)
            note(f"wrote {folder.folder}")
    output.emit(sensitivity_payload(curves), sensitivity_text(curves))
    return ExitCode.DONE
