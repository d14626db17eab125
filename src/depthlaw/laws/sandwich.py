"""Cluster-robust covariance: errors that hold when rows of one run go wrong together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from depthlaw.laws.form import BoundForm
from depthlaw.numerics.terms import Array


def sandwich(bound: BoundForm, params: Array, pinned: NDArray[np.bool_], groups: NDArray[np.intp]) -> Array:
    """Sandwich covariance (params, params) of the internal parameters, summed over clusters.

    H⁻¹ (Σ_g s_g s_gᵀ) H⁻¹ with H the exact Hessian of the objective and s_g the gradient of cluster g, times
    G/(G−1)·(n−1)/(n−p) (Cameron and Miller 2015, *A practitioner's guide to cluster-robust inference*).

    Parameters
    ----------
    params
        (params,) the optimum.
    pinned
        (free,) coordinates held by a bound; they take no part.
    groups
        (runs,) index of the cluster of each row; every row its own cluster gives the heteroscedastic form.
    """
    problem = bound.problem
    free = problem.map.matrix[:, ~pinned]
    residual, jacobian = problem.residuals(params[None])
    _, psi, curvature = problem.loss(residual)
    factor = problem.weights * psi
    weights = problem.weights if curvature is None else problem.weights * curvature
    gauss_newton = np.matmul(jacobian * weights, jacobian.transpose(0, 2, 1))[0]
    hessian = free.T @ (gauss_newton + problem.second_order(jacobian, factor)[0]) @ free
    scores = free.T @ (jacobian[0] * factor)  # (free, runs)
    n_groups = int(groups.max()) + 1
    by_group = np.stack([np.bincount(groups, score, n_groups) for score in scores])
    inverse = np.linalg.pinv(hessian, rcond=1e-12, hermitian=True)
    n_runs, size = problem.n_runs, free.shape[1]
    correction = n_groups / (n_groups - 1) * (n_runs - 1) / (n_runs - size)
    covariance: Array = correction * free @ inverse @ (by_group @ by_group.T) @ inverse @ free.T
    return covariance
