"""Histograms with fixed edges, gathered in pieces, and quantiles from them with a stated resolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.errors import UsageError
from depthlaw.numerics.streaming import Array, Mergeable, finite


@dataclass(frozen=True)
class Quantiles:
    """Quantiles read off a histogram.

    Attributes
    ----------
    value
        (columns, levels), NaN without values.
    resolution
        (columns, levels) largest possible distance from the exact quantile, the value of rank ⌈level · n⌉.
    """

    value: Array
    resolution: Array


@dataclass(frozen=True)
class Histogram(Mergeable):
    """How many values of every column lie between fixed edges.

    Attributes
    ----------
    edges
        (bins + 1,) increasing; a bin holds its lower edge but not its upper one.
    counts
        (columns, bins + 2) int64; the first holds what lies below all edges, the last what does not lie
        below the last edge.
    low, high
        (columns,) smallest and largest value, ∞ and −∞ where there are none.
    """

    edges: Array
    counts: NDArray[np.int64]
    low: Array
    high: Array

    @classmethod
    def of(cls, values: ArrayLike, edges: ArrayLike, where: ArrayLike | None = None) -> Histogram:
        """Gather finite ``values`` (n, columns) or (n,), those with ``where`` only.

        Raises
        ------
        UsageError
            When the edges do not increase.
        """
        marks = np.asarray(edges, dtype=np.float64)
        if len(marks) < 2 or not (np.diff(marks) > 0).all():
            raise UsageError("edges of a histogram must increase.")
        table, taken = finite(values, where)
        columns, size = table.shape[1], len(marks) + 1
        # One count for all columns: bin numbers of the columns lie one behind the other.
        place = np.searchsorted(marks, table, side="right") + size * np.arange(columns)
        counts = np.bincount(place[taken], minlength=columns * size).reshape(columns, size)
        low = np.where(taken, table, np.inf).min(axis=0, initial=np.inf)
        high = np.where(taken, table, -np.inf).max(axis=0, initial=-np.inf)
        return cls(marks, counts.astype(np.int64), low, high)

    @classmethod
    def empty(cls, columns: int, edges: ArrayLike) -> Histogram:
        """Nothing gathered yet."""
        return cls.of(np.empty((0, columns)), edges)

    def merge(self, other: Histogram) -> Histogram:
        """Join two disjoint pieces of data.

        Raises
        ------
        UsageError
            When the edges differ.
        """
        if not np.array_equal(self.edges, other.edges):
            raise UsageError("histograms with different edges cannot be merged.")
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Histogram(self.edges, self.counts + other.counts, low, high)

    @property
    def count(self) -> NDArray[np.int64]:
        """(columns,) values taken."""
        total: NDArray[np.int64] = self.counts.sum(axis=1)
        return total

    def quantiles(self, levels: ArrayLike) -> Quantiles:
        """Quantiles at ``levels`` (levels,) in [0, 1], interpolated inside their bin.

        Raises
        ------
        UsageError
            When a level is not between 0 and 1.
        """
        wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise UsageError(f"levels of quantiles lie between 0 and 1, not {wanted.tolist()}.")
        below = np.concatenate([np.zeros((len(self.counts), 1)), np.cumsum(self.counts, axis=1)], axis=1)
        rank = np.maximum(np.ceil(wanted * self.count[:, None]), 1)
        value, resolution = np.full(rank.shape, np.nan), np.full(rank.shape, np.nan)
        bounds = np.concatenate([[-np.inf], self.edges, [np.inf]])
        for column in np.flatnonzero(self.count):
            found = np.searchsorted(below[column], rank[column], side="left") - 1
            # No value lies outside the extremes, which narrows the bins at the ends, open ones included.
            lower = np.maximum(bounds[found], self.low[column])
            upper = np.minimum(bounds[found + 1], self.high[column])
            inside = rank[column] - below[column][found] - 0.5
            value[column] = lower + (upper - lower) * inside / self.counts[column][found]
            resolution[column] = upper - lower
        return Quantiles(value, resolution)
