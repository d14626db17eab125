"""Starting points for a sum of power laws: exponents on a grid and at random, coefficients by projection.

With the exponents given, the law is linear in its coefficients and the floor. The projection minimises
relative residuals of L, a different objective from the log residuals that are fitted, so it makes starting
points and nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from depthlaw.numerics.linear import solve_stack
from depthlaw.numerics.terms import Array

LEAST_SHARE = 1e-3
"""Smallest share of the loss that a start gives to a term: zero or less has no logarithm."""


def exponent_starts(n_terms: int, count: int, rng: np.random.Generator) -> Array:
    """Exponents (≥ count, n_terms) to start from: half on a grid, half log-uniform on [0.03, 4].

    The grid is the finest one, with 2 to 32 values an axis on [0.1, 2.5], that has at most half the points.
    """
    if n_terms == 0:
        return np.zeros((1, 0))
    side = int(np.clip(np.floor((count / 2) ** (1.0 / n_terms) + 1e-9), 2, 32))
    axis = np.geomspace(0.1, 2.5, side)
    grid = np.array(list(itertools.product(axis, repeat=n_terms)))
    random = np.exp(rng.uniform(np.log(0.03), np.log(4.0), (max(count - len(grid), 0), n_terms)))
    return np.concatenate([grid, random])


def project_coefficients(
    log_scales: Sequence[Array], log_loss: Array, weights: Array, exponents: Array, *, floor: bool
) -> Array:
    """Complete exponents to parameter vectors [a₁, α₁, a₂, α₂, …, floor].

    Parameters
    ----------
    log_scales
        One centred (runs,) array per term.
    log_loss
        (runs,) in internal units.
    weights
        (runs,).
    exponents
        (starts, terms).
    floor
        Whether a constant is fitted; its entry is 0 otherwise.

    Returns
    -------
    Array
        (starts, 2·terms + 1).
    """
    starts, n_terms = exponents.shape
    # Columns are term/L, so that a coefficient vector is good when the columns add up to one.
    columns = [np.exp(-np.outer(exponents[:, k], u) - log_loss) for k, u in enumerate(log_scales)]
    if floor:
        columns.append(np.broadcast_to(np.exp(-log_loss), (starts, len(log_loss))))
    basis = np.stack(columns, 1)  # (starts, columns, runs)
    weighted = basis * weights
    gram = np.matmul(weighted, basis.transpose(0, 2, 1))
    # A whisper of ridge: equal exponents on collinear scales give equal columns.
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    gram = gram + 1e-9 * diagonal[:, :, None] * np.eye(gram.shape[1])
    coefficients = solve_stack(gram, weighted.sum(-1))
    coefficients = np.maximum(coefficients, LEAST_SHARE)
    params = np.zeros((starts, 2 * n_terms + 1))
    params[:, 0 : 2 * n_terms : 2] = np.log(coefficients[:, :n_terms])
    params[:, 1 : 2 * n_terms : 2] = exponents
    if floor:
        params[:, -1] = np.minimum(coefficients[:, -1], 0.99 * np.exp(log_loss.min()))
    return params


def agreeing(cost: Array, best: float, scale: float, tolerance: float = 1e-6) -> NDArray[np.bool_]:
    """Which starts ended at the best objective, to ``tolerance`` relative or to rounding of ``scale``.

    Parameters
    ----------
    scale
        Total weight: costs below scale·1e-24 are zero residuals, equal whatever their digits.
    """
    return cost <= best * (1.0 + tolerance) + scale * 1e-24
