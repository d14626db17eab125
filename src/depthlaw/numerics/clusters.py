"""Means over tokens with standard errors over documents: tokens of one document are not independent.

The mean is the ratio of summed values to summed counts; its standard error is the linearised one over
documents, √(G/(G−1) Σ_d n_d²(x̄_d − x̄)²) / Σ_d n_d for G documents (Cochran, *Sampling Techniques*, 6.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.numerics.streaming import Array, Mergeable, finite, ratio


@dataclass(frozen=True)
class ClusteredMean(Mergeable):
    """Mean of every column with its standard error over clusters that are complete.

    Attributes
    ----------
    clusters
        (columns,) float64, clusters with a value.
    count
        (columns,) float64, values.
    centre
        (columns,) mean over values, 0 where there are none.
    spread
        (columns,) Σ_d n_d² (x̄_d − centre)².
    lean
        (columns,) Σ_d n_d² (x̄_d − centre).
    weight
        (columns,) Σ_d n_d².
    """

    clusters: Array
    count: Array
    centre: Array
    spread: Array
    lean: Array
    weight: Array

    @classmethod
    def of(cls, means: ArrayLike, counts: ArrayLike) -> ClusteredMean:
        """Gather clusters by their means and counts, (clusters, columns) each; a count of 0 is none."""
        n = np.asarray(counts, dtype=np.float64)
        x = np.where(n > 0, np.asarray(means, dtype=np.float64), 0.0)
        count = n.sum(axis=0)
        centre = (n * x).sum(axis=0) / np.maximum(count, 1)
        centre += (n * np.where(n > 0, x - centre, 0.0)).sum(axis=0) / np.maximum(count, 1)
        away = np.where(n > 0, n * (x - centre), 0.0)
        return cls(
            (n > 0).sum(axis=0, dtype=np.float64),
            count,
            centre,
            np.square(away).sum(axis=0),
            (n * away).sum(axis=0),
            np.square(n).sum(axis=0),
        )

    @classmethod
    def empty(cls, columns: int) -> ClusteredMean:
        """Nothing gathered yet."""
        return cls.of(np.empty((0, columns)), np.empty((0, columns)))

    def merge(self, other: ClusteredMean) -> ClusteredMean:
        """Join two pieces of data that share no cluster."""
        count = self.count + other.count
        step = (other.centre - self.centre) * other.count / np.maximum(count, 1)
        centre = np.where(self.count > 0, self.centre + step, other.centre)
        one, two = self._about(centre), other._about(centre)
        return ClusteredMean(
            self.clusters + other.clusters,
            count,
            centre,
            one.spread + two.spread,
            one.lean + two.lean,
            self.weight + other.weight,
        )

    def _about(self, centre: Array) -> ClusteredMean:
        """The same clusters with their sums taken about another centre."""
        step = self.centre - centre
        spread = self.spread + 2 * step * self.lean + step**2 * self.weight
        lean = self.lean + step * self.weight
        return ClusteredMean(self.clusters, self.count, centre, spread, lean, self.weight)

    @property
    def mean(self) -> Array:
        """(columns,) over values, NaN without any."""
        return np.where(self.count > 0, self.centre, np.nan)

    @property
    def stderr(self) -> Array:
        """(columns,) standard error of `mean`, NaN below two clusters."""
        # Rounding may leave a hair below zero.
        variance = ratio(self.clusters * np.maximum(self.spread, 0.0), self.clusters - 1)
        return ratio(np.sqrt(variance), self.count)


@dataclass(frozen=True)
class DocumentMeans(Mergeable):
    """Means of every document, which may come in parts over several batches.

    Attributes
    ----------
    document
        (documents,) int64, increasing.
    means
        (documents, columns), 0 where there is no value.
    counts
        (documents, columns) float64.
    """

    document: NDArray[np.int64]
    means: Array
    counts: Array

    @classmethod
    def of(cls, values: ArrayLike, document: ArrayLike, where: ArrayLike | None = None) -> DocumentMeans:
        """Gather finite ``values`` (n, columns) or (n,) of documents (n,), those with ``where`` only."""
        table, taken = finite(values, where)
        numbers, place = np.unique(np.asarray(document, dtype=np.int64), return_inverse=True)
        if not len(numbers):
            return cls(numbers, table, table)
        order = np.argsort(place, kind="stable")
        begin = np.searchsorted(place[order], np.arange(len(numbers)))
        centre = table.sum(axis=0) / np.maximum(taken.sum(axis=0), 1)
        counts = np.add.reduceat(taken[order].astype(np.float64), begin, axis=0)
        sums = np.add.reduceat(np.where(taken, table - centre, 0.0)[order], begin, axis=0)
        return cls(numbers, np.where(counts > 0, centre + sums / np.maximum(counts, 1), 0.0), counts)

    @classmethod
    def empty(cls, columns: int) -> DocumentMeans:
        """Nothing gathered yet."""
        return cls.of(np.empty((0, columns)), np.empty(0, dtype=np.int64))

    def merge(self, other: DocumentMeans) -> DocumentMeans:
        """Join two disjoint pieces of data; a document may be in both."""
        numbers = np.union1d(self.document, other.document)
        shape = (len(numbers), self.means.shape[1])
        means, counts = np.zeros(shape), np.zeros(shape)
        for part in (self, other):
            place = np.searchsorted(numbers, part.document)
            total = counts[place] + part.counts
            means[place] += (part.means - means[place]) * part.counts / np.maximum(total, 1)
            counts[place] = total
        return DocumentMeans(numbers, means, counts)

    def close(self, below: int | None = None) -> tuple[ClusteredMean, DocumentMeans]:
        """Part the documents that are complete (numbers less than ``below``, ``None``: all) from the rest."""
        done = np.ones(len(self.document), dtype=bool) if below is None else self.document < below
        rest = DocumentMeans(self.document[~done], self.means[~done], self.counts[~done])
        return ClusteredMean.of(self.means[done], self.counts[done]), rest
