"""The options with which every verb reads a table of runs."""

# Annotations are not postponed here: the parser reads those of inherited fields where the heir is defined.

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from depthlaw.data.runs import RunTable, read_runs


@Parameter(name="*", group=Group("Table", sort_key=0))
@dataclass(frozen=True)
class TableOptions:
    """How to read the table of runs.

    Attributes
    ----------
    width
        Column of the width (d_model); the usual names of every column are recognised without these.
    depth
        Column of the depth (n_layers).
    tokens
        Column of the training tokens.
    params
        Column of the parameter count.
    flops
        Column of the training compute.
    loss
        Column of the loss.
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
    decimal
        Decimal mark of the numbers, where the table does not show it.
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
    decimal: Literal[",", "."] | None = None

    def read(self, source: Path) -> RunTable:
        """Read ``source`` with these options."""
        return read_runs(source, **{f.name: getattr(self, f.name) for f in fields(TableOptions)})


AS_RECOGNISED = TableOptions()
