"""``RunTable``: training runs as arrays with units, and everything a fit may do to choose among them."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from depthlaw.data import checks
from depthlaw.data.columns import ALIASES, QUANTITIES, UNITS, ColumnUse, ambiguity, loss_advice
from depthlaw.data.raw import place_of
from depthlaw.errors import InputError, Notice, UsageError, unknown_name
from depthlaw.plurals import counted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class RunTable:
    """Training runs: one row a run, or a checkpoint of one.

    Arrays are read-only, and every method returns a new table. Notices about the numbers (copies, rounding,
    units) always describe the rows at hand.

    Attributes
    ----------
    columns
        Our name → (runs,), in the units of ``mapping``: those of ``width depth tokens params flops loss``
        that the source has. Checked columns are finite and positive; ``require`` checks the others.
    lines
        (runs,) line of each row in its file, the header being line 1; for sources without lines (Parquet,
        data frames, dicts) the position of the row, from 0, or its number in a pandas index.
    source
        What it was read from, for messages.
    sha256
        Identity of the content: columns, weights and clusters in row order, not where they came from.
    mapping
        How each column was understood.
    weights
        (runs,) positive, or ``None`` when all runs count the same.
    clusters
        (runs,) label of the run each row belongs to, or ``None``.
    cluster_source
        Header of the cluster column and how it was found: ``"run_name (recognised)"``.
    notices
        What a reader of any result must know about the table.
    history
        What was done to the rows, one line each, in order.
    headers
        All headers of the source.
    ambiguous
        Our name → headers that could be meant with equal right, none of which was taken.
    line_kind
        ``"line"`` or ``"row"``: what ``lines`` counts.
    files
        (runs,) file of each row when several were read; ``None`` for one source.
    names
        (runs,) what each row is called in a data frame's index of text; ``None`` where rows have no names.
    """

    columns: Mapping[str, NDArray[np.float64]]
    lines: NDArray[np.int64]
    source: str
    sha256: str
    mapping: tuple[ColumnUse, ...]
    weights: NDArray[np.float64] | None = None
    clusters: NDArray[np.str_] | None = None
    cluster_source: str | None = None
    notices: tuple[Notice, ...] = ()
    history: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    line_kind: str = "line"
    files: NDArray[np.str_] | None = None
    names: NDArray[np.str_] | None = None

    @property
    def n_runs(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def __len__(self) -> int:
        return self.n_runs

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return the column called ``name`` by us, (runs,).

        Raises
        ------
        UsageError
            The table has no such column.
        """
        if name not in QUANTITIES:
            raise unknown_name("quantity", name, list(self.columns))
        if name not in self.columns:
            raise self._absent(name)
        return self.columns[name]

    def __repr__(self) -> str:
        return f"RunTable({counted(self.n_runs, 'run')} from {self.source}: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        from depthlaw.data.table_html import table_html

        return table_html(self)

    def require(self, *names: str) -> None:
        """Make sure that columns are there and usable, before something is fitted to them.

        Raises
        ------
        UsageError
            A column is not in the source, or several could be meant.
        InputError
            A column that was not checked on reading holds values that are not finite and positive.
        """
        for name in names:
            values = self[name]
            bad = ~(np.isfinite(values) & (values > 0))
            if bad.any():
                header = next((use.source for use in self.mapping if use.name == name), name)
                places = [self.place(row) for row in np.flatnonzero(bad)[:6]]
                listing = ", ".join(places) + (", …" if bad.sum() > 6 else "")
                raise InputError(
                    f'{self.source}: {bad.sum()} of {self.n_runs} rows have no usable {name} ("{header}"):\n'
                    f"{listing}.",
                    f'Mend them, or leave them out with --where "{name} > 0".',
                )

    def place(self, row: int) -> str:
        """Say where row ``row`` (from 0) stands in the source; see `depthlaw.data.raw.place_of`."""
        return place_of(self, row)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64] | Sequence[int], why: str) -> RunTable:
        """Return some of the rows.

        Parameters
        ----------
        rows
            Mask (runs,), or positions in the order wanted (repeats allowed).
        why
            One line for the history.

        Raises
        ------
        InputError
            No row is left.
        """
        chosen = np.asarray(rows)
        if chosen.dtype != bool:
            chosen = chosen.astype(np.int64)
        if not len(self.lines[chosen]):
            raise InputError(f"{self.source}: no row is left ({why}).")
        return assemble(
            dataclasses.replace(
                self,
                columns={name: column[chosen] for name, column in self.columns.items()},
                lines=self.lines[chosen],
                weights=None if self.weights is None else self.weights[chosen],
                clusters=None if self.clusters is None else self.clusters[chosen],
                files=None if self.files is None else self.files[chosen],
                names=None if self.names is None else self.names[chosen],
                history=(*self.history, why),
            )
        )

    def exclude_highest(self, k: int) -> RunTable:
        """Keep only the rows whose loss is strictly below the ``k``-th largest; 0 keeps all.

        Rows that tie with the ``k``-th largest go too, so more than ``k`` may be left out. This selects on
        the outcome and moves exponents: show a fit for several ``k``.

        Raises
        ------
        UsageError
            ``k`` is negative, or no row would be left.
        """
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 0:
            raise UsageError(f"exclude_highest is {k!r}; a whole number from 0 is expected.")
        if k == 0:
            return self
        loss = self["loss"]
        if k >= self.n_runs:
            raise UsageError(
                f"{self.source}: excluding the {k} highest losses leaves none of {self.n_runs} rows.",
                "Give a smaller --exclude-highest.",
            )
        cut = np.sort(loss)[-int(k)]
        keep, ties = loss < cut, int((loss == cut).sum())
        if not keep.any():
            raise UsageError(
                f"{self.source}: excluding the {k} highest losses leaves no row: all tie at {cut:.6g}.",
                "Give a smaller --exclude-highest.",
            )
        tied = f"; {ties} rows tie at the cut" if ties > 1 else ""
        which = "highest loss" if k == 1 else f"{k} highest losses"
        kept = f"{keep.sum()} of {self.n_runs} rows kept"
        return self.take(keep, f"excluded the {which} (>= {cut:.6g}{tied}): {kept}")

    def drop_duplicates(self) -> RunTable:
        """Keep the first of rows that agree exactly in every column, weight and cluster label."""
        copies = _copies(self)
        if not copies.any():
            return self
        what = (
            "1 exact copy of another row"
            if copies.sum() == 1
            else f"{copies.sum()} exact copies of other rows"
        )
        return self.take(~copies, f"dropped {what}: {(~copies).sum()} of {self.n_runs} rows kept")

    def to_table(self) -> pa.Table:
        """Return a ``pyarrow.Table``: our columns, then weights, cluster, file, name and line (or row).

        Each field says its unit and its header in the source as metadata.
        """
        import pyarrow as pa

        arrays: dict[str, NDArray[np.generic]] = dict(self.columns)
        optional = {"weights": self.weights, "cluster": self.clusters, "file": self.files, "name": self.names}
        arrays |= {name: array for name, array in optional.items() if array is not None}
        arrays[self.line_kind] = self.lines
        used = {use.name: use for use in self.mapping}
        fields = []
        for name, array in arrays.items():
            kind = {"f": pa.float64(), "i": pa.int64(), "U": pa.string()}[array.dtype.kind]
            use = used.get(name)
            metadata = {"unit": use.unit, "source": use.source} if use else None
            fields.append(pa.field(name, kind, metadata=metadata))
        columns = [
            pa.array(array.tolist(), type=f.type) for array, f in zip(arrays.values(), fields, strict=True)
        ]
        return pa.table(columns, schema=pa.schema(fields))

    def _absent(self, name: str) -> UsageError:
        if name in self.ambiguous:
            return ambiguity(name, self.ambiguous[name], self.source)
        listing = ", ".join(self.headers[:12]) + (", …" if len(self.headers) > 12 else "")
        advice = loss_advice(self.headers) if name == "loss" else None
        return UsageError(
            f"{self.source}: no column was recognised as the {name} (have: {listing or 'none'}).",
            advice or f"Name it: --{name} COLUMN. Recognised by themselves: {', '.join(ALIASES[name])}.",
        )


def assemble(table: RunTable) -> RunTable:
    """Return ``table`` with its identity and the notices about its numbers worked out, arrays read-only."""
    units = {use.name: use.unit for use in table.mapping}
    kept = tuple(notice for notice in table.notices if notice.code not in checks.CONTENT_CODES)
    clustered = table.clusters is not None
    sources = {use.name: use.source for use in table.mapping}
    found = checks.content_notices(
        table.columns, table.lines, {**UNITS, **units}, sources, _copies(table), clustered
    )
    for array in (
        *table.columns.values(),
        table.lines,
        table.weights,
        table.clusters,
        table.files,
        table.names,
    ):
        if array is not None:
            array.setflags(write=False)
    return dataclasses.replace(table, sha256=_identity(table), notices=(*kept, *found))


def _copies(table: RunTable) -> NDArray[np.bool_]:
    optional = [key for key in (table.weights, table.clusters) if key is not None]
    return checks.find_copies([*table.columns.values(), *optional], table.n_runs)


def _identity(table: RunTable) -> str:
    digest = hashlib.sha256()
    named = {**table.columns, "weights": table.weights, "cluster": table.clusters}
    for name, array in sorted(named.items()):
        if array is None:
            continue
        if array.dtype.kind == "U":
            data = "\0".join(array.tolist()).encode("utf-8", "surrogatepass")
        else:
            # one bit pattern for every NaN, and one byte order
            data = np.where(np.isnan(array), np.nan, array).astype("<f8").tobytes()
        digest.update(f"{name}:{len(data)}:".encode() + data)
    return digest.hexdigest()
