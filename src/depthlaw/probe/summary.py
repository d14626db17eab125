"""Per layer: mean, spread, quantiles and the standard error over documents, gathered as the pass goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from depthlaw.numerics.clusters import ClusteredMean, DocumentMeans
from depthlaw.numerics.histogram import Histogram
from depthlaw.numerics.streaming import Mergeable, Moments
from depthlaw.probe.columns import QUANTITIES
from depthlaw.probe.seen import Seen
from depthlaw.probe.stopping import NO_MIDDLE, Stopping, stopping

GROUPS = ("all", "rest", "first")
"""Which tokens: all that count, those that are not the first of their document, those that are."""

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

SUMMARY_UNITS = {
    "quantity": "1",
    "unit": "1",
    "layer": "1",
    "tokens": "1",
    "count": "tokens",
    "nonfinite": "tokens",
    "documents": "1",
    **dict.fromkeys(
        ("mean", "sd", "stderr", "min", "q05", "q25", "q50", "q75", "q95", "max", "resolution"), "see unit"
    ),
}
"""Columns of the summary table with their units."""


class Summary:
    """Observer of all quantities; see `depthlaw.probe.seen.Observer`."""

    name = "summary"

    def __init__(self) -> None:
        self._shape: dict[str, int] = {}
        self._moments: dict[str, Moments] = {}
        self._closed: dict[str, ClusteredMean] = {}
        self._open: dict[str, DocumentMeans] = {}
        self._histograms: dict[str, Histogram] = {}

    def observe(self, seen: Seen) -> None:
        """Take one batch into account."""
        tables = {name: _two_dimensional(seen.columns[name]) for name in QUANTITIES if name in seen.columns}
        self._shape = {name: table.shape[1] for name, table in tables.items()}
        everything = np.concatenate(list(tables.values()), axis=1, dtype=np.float64)
        masks = {"all": None, "rest": ~seen.is_first, "first": seen.is_first}
        for group, where in masks.items():
            self._gather(self._moments, group, Moments.of(everything, where))
            self._gather(self._open, group, DocumentMeans.of(everything, seen.document, where))
            done, self._open[group] = self._open[group].close(seen.complete_below)
            self._gather(self._closed, group, done)
            if group != "all":
                for name, table in tables.items():
                    piece = Histogram.of(table, QUANTITIES[name].edges, where)
                    self._gather(self._histograms, f"{group}.{name}", piece)

    @staticmethod
    def _gather(known: dict[str, Any], key: str, piece: Mergeable) -> None:
        known[key] = known[key].merge(piece) if key in known else piece

    def table(self, depth: int) -> pa.Table:
        """Return the summary, one row for each quantity, group of tokens and layer.

        Parameters
        ----------
        depth
            Blocks of the model.
        """
        rows: dict[str, list[Any]] = {name: [] for name in SUMMARY_UNITS}
        for group in GROUPS if self._shape else ():
            moments = self._moments[group]
            closed = self._closed[group].merge(self._open[group].close()[0])
            start = 0
            for name, columns in self._shape.items():
                part = slice(start, start + columns)
                start += columns
                quantiles = self._histogram(group, name).quantiles(LEVELS)
                first = QUANTITIES[name].first_layer(depth)
                rows["quantity"] += [name] * columns
                rows["unit"] += [QUANTITIES[name].unit] * columns
                rows["layer"] += range(first, first + columns)
                rows["tokens"] += [group] * columns
                rows["count"] += moments.count[part].astype(int).tolist()
                rows["nonfinite"] += moments.nonfinite[part].astype(int).tolist()
                rows["documents"] += closed.clusters[part].astype(int).tolist()
                rows["mean"] += moments.mean[part].tolist()
                rows["sd"] += moments.sd[part].tolist()
                rows["stderr"] += closed.stderr[part].tolist()
                rows["min"] += _known(moments.low[part])
                rows["max"] += _known(moments.high[part])
                for level, values in zip(LEVELS, quantiles.value.T, strict=True):
                    rows[_level_name(level)] += values.tolist()
                rows["resolution"] += quantiles.resolution.max(axis=1).tolist()
        return pa.table(rows, schema=pa.schema([(name, _TYPES.get(name, pa.float64())) for name in rows]))

    @property
    def n_tokens(self) -> int:
        """Tokens that count, those with states that are not finite included."""
        return int((self._moments["all"].count + self._moments["all"].nonfinite).max()) if self._shape else 0

    def stopping(self) -> Stopping:
        """Return how many tokens stop early; all NaN for a model without a middle."""
        if "theta_middle" not in self._shape:
            return NO_MIDDLE
        column = list(np.repeat(list(self._shape), list(self._shape.values()))).index("theta_middle")
        first, rest = self._histogram("first", "theta_middle"), self._histogram("rest", "theta_middle")
        return stopping(first, rest, float(self._moments["all"].mean[column]))

    def _histogram(self, group: str, name: str) -> Histogram:
        if group != "all":
            return self._histograms[f"{group}.{name}"]
        return self._histograms[f"first.{name}"].merge(self._histograms[f"rest.{name}"])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that was gathered."""
        known: dict[str, NDArray[Any]] = {f"shape/{name}": np.asarray(n) for name, n in self._shape.items()}
        for kind, pieces in self._pieces().items():
            for key, piece in pieces.items():
                known |= {f"{kind}/{key}/{name}": array for name, array in piece.arrays().items()}
        return known

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        found: dict[tuple[str, str], dict[str, NDArray[Any]]] = {}
        for path, array in arrays.items():
            kind, _, rest = path.partition("/")
            if kind == "shape":
                self._shape[rest] = int(array)
            else:
                key, _, name = rest.rpartition("/")
                found.setdefault((kind, key), {})[name] = array
        # Shapes were kept in the order of the quantities; a file may list them in another.
        self._shape = {name: self._shape[name] for name in QUANTITIES if name in self._shape}
        pieces = self._pieces()
        for (kind, key), fields in found.items():
            pieces[kind][key] = _KINDS[kind].from_arrays(fields)

    def _pieces(self) -> dict[str, dict[str, Any]]:
        return {
            "moments": self._moments,
            "closed": self._closed,
            "open": self._open,
            "histograms": self._histograms,
        }


_KINDS: Mapping[str, type[Mergeable]] = {
    "moments": Moments,
    "closed": ClusteredMean,
    "open": DocumentMeans,
    "histograms": Histogram,
}
_TYPES = {
    "quantity": pa.string(),
    "unit": pa.string(),
    "tokens": pa.string(),
    "layer": pa.int64(),
    "count": pa.int64(),
    "nonfinite": pa.int64(),
    "documents": pa.int64(),
}


def _level_name(level: float) -> str:
    return f"q{round(100 * level):02d}"


def _two_dimensional(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return values[:, None] if values.ndim == 1 else values


def _known(values: NDArray[np.float64]) -> list[float]:
    known: list[float] = np.where(np.isfinite(values), values, np.nan).tolist()
    return known
