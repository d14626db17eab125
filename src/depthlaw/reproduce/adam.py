"""The paper's optimiser for its scaling law: full-batch Adam for a fixed number of steps (App. B.3).

Run to see what the published numbers owe to it; fits of ours use `depthlaw.laws.fit`.
"""

from __future__ import annotations

import numpy as np

from depthlaw.numerics.terms import Array, FloorTerm, PowerTerm, Term, evaluate_terms

START = np.array([np.log(200.0), 1.0, np.log(200.0), 1.0, np.log(10.0), 0.33, 1.69])
"""[ln c_m, α_m, ln c_ℓ, α_ℓ, ln c_D, α_D, L_0] in the reference's units: depth × 100, tokens / 1e6."""
RATES = np.array([5e-3, 5e-4, 5e-3, 5e-4, 5e-3, 5e-4, 5e-3])
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def adam_law(width: Array, depth: Array, tokens: Array, losses: Array, counts: Array, steps: int) -> Array:
    """Fit the decomposed law to reweighted versions of one table, all side by side.

    Parameters
    ----------
    width, depth, tokens, losses
        (runs,) each.
    counts
        (batch, runs) weights of the rows, zero for those left out.

    Returns
    -------
    Array
        (batch, 7) points [ln c_width, α_width, ln c_depth, α_depth, ln c_tokens, α_tokens, floor] in natural
        units.
    """
    logs = (np.log(width), np.log(100.0 * depth), np.log(tokens / 1e6))
    terms: list[Term] = [*(PowerTerm(u) for u in logs), FloorTerm()]
    log_loss = np.log(losses)
    share = 2.0 * counts / counts.sum(1, keepdims=True)
    params = np.tile(START, (len(counts), 1))
    first, second = np.zeros_like(params), np.zeros_like(params)
    for step in range(1, steps + 1):
        value, jacobian = evaluate_terms(terms, params, len(losses))
        pull = share * (np.log(value) - log_loss) / value
        gradient = np.matmul(jacobian, pull[:, :, None])[:, :, 0]
        first += (1.0 - BETA1) * (gradient - first)
        second += (1.0 - BETA2) * (gradient * gradient - second)
        size = np.sqrt(second / (1.0 - BETA2**step)) + EPSILON
        params -= RATES * first / (1.0 - BETA1**step) / size
    params[:, 2] -= params[:, 3] * np.log(100.0)
    params[:, 4] += params[:, 5] * np.log(1e6)
    return params
