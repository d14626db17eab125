"""Statistics that are gathered in pieces: each piece a small frozen value, any two of which can be merged.

Float64 throughout, centred before squaring (Chan, Golub and LeVeque 1983), so that neither a large offset
nor the way in which the data were cut into pieces shows in the digits that matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.errors import InputError

Array = NDArray[np.float64]


class Mergeable:
    """A dataclass whose fields are arrays; ``a.merge(b)`` is what was gathered from both."""

    def merge(self, other: Self) -> Self:
        """Join two disjoint pieces of data."""
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state by name, to be kept in a file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Undo `arrays`.

        Raises
        ------
        InputError
            When the names are not those of this statistic.
        """
        names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        if set(arrays) != names:
            raise InputError(f"{cls.__name__} is kept as {sorted(names)}, found {sorted(arrays)}.")
        return cls(**{name: np.asarray(array) for name, array in arrays.items()})


def finite(values: ArrayLike, where: ArrayLike | None = None) -> tuple[Array, NDArray[np.bool_]]:
    """Split values from what is not to be counted.

    Parameters
    ----------
    values
        (n, columns) or (n,), which is one column.
    where
        Which to take, broadcast to ``values`` from the left; ``None`` for all.

    Returns
    -------
    values, taken
        (n, columns) float64 with zeros where not taken, and (n, columns) bool: asked for and finite.
    """
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    taken = np.isfinite(table)
    if where is not None:
        mask = np.asarray(where, dtype=bool)
        taken &= mask[:, None] if mask.ndim == 1 else mask
    return np.where(taken, table, 0.0), taken


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Array:
    """Divide, NaN where the denominator is not positive."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    )
    quotient: Array = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return quotient


@dataclass(frozen=True)
class Moments(Mergeable):
    """Count, mean and spread of every column.

    Attributes
    ----------
    count
        (columns,) float64, values taken; whole numbers.
    nonfinite
        (columns,) float64, values asked for but NaN or infinite, left out of everything else.
    centre
        (columns,) mean of the values, 0 where there are none.
    squares
        (columns,) sum of squared deviations from it.
    low, high
        (columns,) smallest and largest value, ∞ and −∞ where there are none.
    """

    count: Array
    nonfinite: Array
    centre: Array
    squares: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, values: ArrayLike, where: ArrayLike | None = None) -> Moments:
        """Gather ``values`` (n, columns) or (n,), those with ``where`` (n,) or (n, columns) only."""
        table, taken = finite(values, where)
        asked = np.ones_like(taken) if where is None else finite(np.zeros(table.shape), where)[1]
        count = taken.sum(axis=0, dtype=np.float64)
        centre = table.sum(axis=0) / np.maximum(count, 1)
        deviation = np.where(taken, table - centre, 0.0)
        # The mean of the deviations is rounding of the first pass.
        shift = deviation.sum(axis=0) / np.maximum(count, 1)
        squares = np.square(deviation).sum(axis=0) - count * shift**2
        low = np.where(taken, table, np.inf).min(axis=0, initial=np.inf)
        high = np.where(taken, table, -np.inf).max(axis=0, initial=-np.inf)
        nonfinite = asked.sum(axis=0, dtype=np.float64) - count
        return cls(count, nonfinite, centre + shift, np.maximum(squares, 0.0), low, high)

    @classmethod
    def empty(cls, columns: int) -> Moments:
        """Nothing gathered yet."""
        return cls.of(np.empty((0, columns)))

    def merge(self, other: Moments) -> Moments:
        """Join two disjoint pieces of data."""
        count = self.count + other.count
        step = other.centre - self.centre
        share = other.count / np.maximum(count, 1)
        # The mean of an empty piece is a placeholder, not a value.
        centre = np.where(self.count > 0, self.centre + step * share, other.centre)
        squares = self.squares + other.squares + step**2 * share * self.count
        return Moments(
            count,
            self.nonfinite + other.nonfinite,
            centre,
            squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def mean(self) -> Array:
        """(columns,), NaN without values."""
        return np.where(self.count > 0, self.centre, np.nan)

    @property
    def sd(self) -> Array:
        """(columns,) sample standard deviation (n − 1), NaN below two values."""
        return np.sqrt(ratio(self.squares, self.count - 1))


@dataclass(frozen=True)
class Covariance(Mergeable):
    """Mean and covariance of vectors.

    Attributes
    ----------
    count
        () float64, vectors taken.
    nonfinite
        () float64, vectors asked for that hold a NaN or an infinity; left out.
    centre
        (columns,) mean of the vectors, 0 where there are none.
    products
        (columns, columns) sum of the outer products of the deviations from it.
    """

    count: Array
    nonfinite: Array
    centre: Array
    products: Array

    @classmethod
    def of(cls, vectors: ArrayLike, where: ArrayLike | None = None) -> Covariance:
        """Gather ``vectors`` (n, columns), those with ``where`` (n,) only."""
        table = np.asarray(vectors, dtype=np.float64)
        if where is not None:
            table = table[np.asarray(where, dtype=bool)]
        good = table[np.isfinite(table).all(axis=1)]
        n = len(good)
        centre = good.sum(axis=0) / max(n, 1)
        deviation = good - centre
        shift = deviation.sum(axis=0) / max(n, 1)
        deviation -= shift
        count, nonfinite = np.float64(n), np.float64(len(table) - n)
        return cls(np.asarray(count), np.asarray(nonfinite), centre + shift, deviation.T @ deviation)

    @classmethod
    def empty(cls, columns: int) -> Covariance:
        """Nothing gathered yet."""
        return cls.of(np.empty((0, columns)))

    def merge(self, other: Covariance) -> Covariance:
        """Join two disjoint pieces of data."""
        count = self.count + other.count
        step = other.centre - self.centre
        share = other.count / np.maximum(count, 1)
        centre = self.centre + step * share if self.count > 0 else other.centre
        products = self.products + other.products + np.outer(step, step) * (share * self.count)
        return Covariance(np.asarray(count), self.nonfinite + other.nonfinite, centre, products)

    @property
    def mean(self) -> Array:
        """(columns,), NaN without vectors."""
        return np.where(self.count > 0, self.centre, np.nan)

    @property
    def covariance(self) -> Array:
        """(columns, columns) sample covariance (n − 1), NaN below two vectors."""
        return ratio(self.products, self.count - 1)
