"""Linear constraints on a parameter vector, by elimination: the one mechanism behind fixed and tied
parameters and behind profile likelihoods.

Parameters p are an affine image of fewer free coordinates, p = offset + matrix·z, and the coordinates
are themselves some of the parameters, z = p[pick], so bounds and step limits carry over by indexing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depthlaw.numerics.terms import Array

Index = NDArray[np.intp]


@dataclass(frozen=True)
class AffineMap:
    """p = offset + matrix·z with z = p[pick].

    Attributes
    ----------
    offset
        (params,).
    matrix
        (params, free).
    pick
        (free,) indices of the parameters that serve as coordinates.
    """

    offset: Array
    matrix: Array
    pick: Index

    @classmethod
    def identity(cls, size: int) -> AffineMap:
        """All ``size`` parameters are free."""
        return cls(np.zeros(size), np.eye(size), np.arange(size))

    @property
    def n_free(self) -> int:
        """Number of free coordinates."""
        return len(self.pick)

    def expand(self, free: Array) -> Array:
        """Parameters (…, params) of free coordinates (…, free)."""
        return self.offset + free @ self.matrix.T

    def eliminate(self, functional: Array, value: float, pivot: int) -> AffineMap:
        """Add the constraint ``functional · p = value`` by eliminating the coordinate ``pivot``.

        Parameters
        ----------
        functional
            (params,).
        pivot
            Index of a parameter that is a free coordinate and has weight in the functional.

        Raises
        ------
        ValueError
            If ``pivot`` is no free coordinate or the functional does not depend on it.
        """
        where = np.flatnonzero(self.pick == pivot)
        weights = self.matrix.T @ functional
        if len(where) == 0 or weights[where[0]] == 0.0:
            raise ValueError(f"parameter {pivot} cannot be eliminated")
        at = int(where[0])
        solved = -weights / weights[at]  # z_pivot as a function of the other coordinates …
        constant = (value - functional @ self.offset) / weights[at]
        keep = np.arange(self.n_free) != at
        column = self.matrix[:, at]
        return AffineMap(
            offset=self.offset + column * constant,  # … put into p = offset + matrix·z
            matrix=self.matrix[:, keep] + np.outer(column, solved[keep]),
            pick=self.pick[keep],
        )


@dataclass(frozen=True)
class MapBatch:
    """One affine map per problem of a batch; shared maps are stored once.

    Attributes
    ----------
    offset
        (batch or 1, params).
    matrix
        (batch or 1, params, free).
    pick
        (batch or 1, free).
    """

    offset: Array
    matrix: Array
    pick: Index

    @classmethod
    def shared(cls, one: AffineMap) -> MapBatch:
        """The same map for every problem."""
        return cls(one.offset[None], one.matrix[None], one.pick[None])

    @classmethod
    def stack(cls, maps: list[AffineMap]) -> MapBatch:
        """One map per problem; all must leave the same number of coordinates free."""
        return cls(
            np.stack([m.offset for m in maps]),
            np.stack([m.matrix for m in maps]),
            np.stack([m.pick for m in maps]),
        )

    def take(self, index: Index) -> MapBatch:
        """The maps of some problems."""
        if len(self.offset) == 1:
            return self
        return MapBatch(self.offset[index], self.matrix[index], self.pick[index])

    def expand(self, free: Array) -> Array:
        """Parameters (batch, params) of coordinates (batch, free)."""
        params: Array = self.offset + np.matmul(self.matrix, free[:, :, None])[:, :, 0]
        return params

    def restrict(self, params: Array) -> Array:
        """Coordinates (batch, free) of parameters (batch, params)."""
        return np.take_along_axis(params, np.broadcast_to(self.pick, (len(params), self.pick.shape[1])), 1)

    def pull_back(self, gradient: Array) -> Array:
        """Gradients by coordinates (batch, free) from those by parameters (batch, params)."""
        pulled: Array = np.matmul(gradient[:, None, :], self.matrix)[:, 0, :]
        return pulled

    def pull_back_form(self, form: Array) -> Array:
        """Quadratic forms (batch, free, free) from those in parameters (batch, params, params)."""
        pulled: Array = np.matmul(self.matrix.transpose(0, 2, 1), np.matmul(form, self.matrix))
        return pulled
