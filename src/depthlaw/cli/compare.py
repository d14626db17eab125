"""``depthlaw compare``: several forms of the law on one table, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.cli.table import AS_RECOGNISED, TableOptions
from depthlaw.errors import ExitCode
from depthlaw.laws.compare import CompareConfig, compare
from depthlaw.report.compare import compare_payload, compare_text
from depthlaw.report.fit import table_text

DEFAULTS = CompareConfig()


def compare_command(
    runs: Path,
    /,
    *,
    table: TableOptions = AS_RECOGNISED,
    config: Annotated[CompareConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Hold several forms of the law side by side on one table of runs.

    By AICc, BIC, and losses the fit has not seen: rows left out at random, and the largest shapes.

    Parameters
    ----------
    runs
        CSV, TSV, JSON lines or Parquet file (gzip too), or a folder of them: one row per training run.
    """
    runs_table = table.read(runs)
    if output.dry_run:
        forms = config.forms or (
            f"{config.resolve(runs_table.columns, runs_table.source, runs_table.headers)} and its variants",
        )
        output.emit_plan(config, [f"fit {form} to {runs_table.n_runs} runs of {runs}" for form in forms])
        return ExitCode.DONE
    note(table_text(runs_table))
    with output.run("compare", config=config, identity={"data": runs_table.sha256}) as folder:
        result = compare(runs_table, config)
        payload, text = compare_payload(result), compare_text(result)
        if folder is not None and not folder.complete:
            folder.write_json("compare.json", payload)
            folder.write_text("compare.txt", text)
            columns = result.to_table()
            folder.write_table("compare.parquet", columns, units=dict.fromkeys(columns.column_names, "1"))
            note(f"wrote {folder.folder}")
    output.emit(payload, text)
    return ExitCode.DONE
