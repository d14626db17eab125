"""How a run table looks in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from depthlaw.data.html import result_html
from depthlaw.plurals import counted

if TYPE_CHECKING:
    from depthlaw.data.table import RunTable


def table_html(table: RunTable) -> str:
    """Return what was read as HTML: how each column was understood, its range, the history, the notices."""
    rows: list[list[object]] = []
    for use in table.mapping:
        values = table.columns.get(use.name)
        if values is None or not np.isfinite(values).any():
            span = ["", "", ""]
        else:
            span = [f"{np.nanmin(values):.6g}", f"{np.nanmax(values):.6g}", str(len(np.unique(values)))]
        rows.append([use.name, use.source, use.unit_words, use.how, *span])
    head = ("", "column", "unit", "how", "from", "to", "distinct")
    notes = [*table.history, *(notice.message for notice in table.notices)]
    return result_html(f"{counted(table.n_runs, 'run')} from {table.source}", head, rows, notes)
