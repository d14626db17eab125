"""How a run table looks in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from depthlaw.data.table import RunTable


def table_html(table: RunTable) -> str:
    """Return what was read as HTML: how each column was understood, its range, the history, the notices."""
    rows = []
    for use in table.mapping:
        values = table.columns.get(use.name)
        if values is None or not np.isfinite(values).any():
            span = ["", "", ""]
        else:
            span = [f"{np.nanmin(values):.6g}", f"{np.nanmax(values):.6g}", str(len(np.unique(values)))]
        cells = [use.name, use.source, use.unit, use.how, *span]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("", "column", "unit", "how", "from", "to", "distinct"))
    lines = [*table.history, *(notice.message for notice in table.notices)]
    notes = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        f"<div><b>{table.n_runs} runs</b> from {escape(table.source)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )
