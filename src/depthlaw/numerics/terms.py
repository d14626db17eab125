"""Terms of an additive law, each with its value and analytic derivatives for a whole batch of parameter
vectors.

A law is a sum of terms. A new kind of term is one small class as below; everything above (solver,
profiles, resampling) sees only parameter vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Term(Protocol):
    """One summand of a law with ``size`` parameters."""

    @property
    def size(self) -> int:
        """Number of parameters."""
        ...

    def add_to(self, params: Array, value: Array, jacobian: Array) -> None:
        """Add this term to ``value`` and write its derivatives into ``jacobian``, in place.

        Parameters
        ----------
        params
            (batch, size).
        value
            (batch, runs), accumulated.
        jacobian
            (batch, size, runs), overwritten.
        """
        ...

    def along(self, first: Array, step: Array) -> Array:
        """Second derivative of the term along ``step`` (batch, size), times the factor of ``first``.

        Returns
        -------
        Array
            (batch, runs).
        """
        ...

    def second_order(self, first: Array, factor: Array) -> Array:
        """Σ_runs factor · ∂²term, (batch, size, size).

        Parameters
        ----------
        first
            (batch, size, runs) first derivatives, up to the same factor per run as the result is wanted in.
        factor
            (batch, runs).
        """
        ...


@dataclass(frozen=True)
class PowerTerm:
    """``exp(a − α·u)`` with parameters (a, α); ``u`` is a centred log scale of shape (runs,).

    With u = ln x − centre this is c·x^-α where ln c = a + α·centre. Centring takes the correlation of
    ln c and α from nearly ±1 to something a solver can work with.
    """

    log_scale: Array
    size: int = 2

    def add_to(self, params: Array, value: Array, jacobian: Array) -> None:
        """See `Term.add_to`."""
        power = params[:, 1, None] * self.log_scale
        np.subtract(params[:, 0, None], power, out=power)
        np.exp(power, out=jacobian[:, 0])
        value += jacobian[:, 0]
        np.multiply(jacobian[:, 0], -self.log_scale, out=jacobian[:, 1])

    def along(self, first: Array, step: Array) -> Array:
        """See `Term.along`."""
        change = step[:, 0, None] - step[:, 1, None] * self.log_scale
        along: Array = first[:, 0] * change * change
        return along

    def second_order(self, first: Array, factor: Array) -> Array:
        """See `Term.second_order`: derivatives of exp(a − αu) are the term times 1, −u, u²."""
        by_a = np.matmul(first, factor[:, :, None])[:, :, 0]  # (batch, 2): ∂a∂a and ∂a∂α
        by_alpha = np.matmul(first[:, 1] * factor, -self.log_scale)
        form = np.empty((len(first), 2, 2))
        form[:, 0, :] = by_a
        form[:, 1, 0] = by_a[:, 1]
        form[:, 1, 1] = by_alpha
        return form


@dataclass(frozen=True)
class FloorTerm:
    """A constant: the irreducible loss, parameter (floor,)."""

    size: int = 1

    def add_to(self, params: Array, value: Array, jacobian: Array) -> None:
        """See `Term.add_to`."""
        value += params
        jacobian[:, 0] = 1.0

    def along(self, first: Array, step: Array) -> Array:
        """See `Term.along`: linear, so zero."""
        return np.zeros((len(first), first.shape[2]))

    def second_order(self, first: Array, factor: Array) -> Array:
        """See `Term.second_order`: linear, so zero."""
        return np.zeros((len(first), 1, 1))


def evaluate_terms(terms: Sequence[Term], params: Array, n_runs: int) -> tuple[Array, Array]:
    """Evaluate a sum of terms for a batch of parameter vectors.

    Parameters
    ----------
    params
        (batch, total size), the terms' parameters one after the other.

    Returns
    -------
    value
        (batch, runs).
    jacobian
        (batch, total size, runs), runs last so that each derivative is contiguous.
    """
    batch, size = params.shape
    value = np.zeros((batch, n_runs))
    jacobian = np.empty((batch, size, n_runs))
    at = 0
    for term in terms:
        part = slice(at, at + term.size)
        term.add_to(params[:, part], value, jacobian[:, part])
        at += term.size
    return value, jacobian


def add_second_derivatives(terms: Sequence[Term], jacobian: Array, factor: Array, form: Array) -> None:
    """Add each term's Σ factor·∂²term to its diagonal block of ``form`` (batch, size, size), in place."""
    at = 0
    for term in terms:
        part = slice(at, at + term.size)
        form[:, part, part] += term.second_order(jacobian[:, part], factor)
        at += term.size


def second_along(terms: Sequence[Term], jacobian: Array, step: Array) -> Array:
    """Sum of the terms' second derivatives along ``step`` (batch, size) → (batch, runs)."""
    total = np.zeros((len(jacobian), jacobian.shape[2]))
    at = 0
    for term in terms:
        part = slice(at, at + term.size)
        total += term.along(jacobian[:, part], step[:, part])
        at += term.size
    return total
