"""Stacks of small linear systems that are solved whatever they are."""

from __future__ import annotations

import numpy as np

from depthlaw.numerics.terms import Array

RIDGE = 1e-10
"""Share of the largest diagonal entry that is added where a system is exactly singular."""


def solve_stack(systems: Array, right: Array) -> Array:
    """Solve (batch, n, n) systems for right-hand sides (batch, n).

    One exactly singular system would fail the whole stack; the stack is then solved with a whisper of ridge.
    """
    try:
        solved = np.linalg.solve(systems, right[:, :, None])
    except np.linalg.LinAlgError:
        diagonal = np.abs(np.diagonal(systems, axis1=1, axis2=2)).max(-1)
        ridge = RIDGE * np.where(diagonal > 0, diagonal, 1.0)
        bent = systems + ridge[:, None, None] * np.eye(systems.shape[1])
        try:
            solved = np.linalg.solve(bent, right[:, :, None])
        except np.linalg.LinAlgError:  # as singular as before: the smallest solution
            solved = np.linalg.pinv(bent) @ right[:, :, None]
    return solved[:, :, 0].astype(np.float64, copy=False)
