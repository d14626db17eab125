"""Students whose loss is finite and useless: at the end of training worse than before its first step.

A student starts with B = 0 and hands its normalised input on, so that its loss before training is what doing
nothing costs. Losses of normalised states are bounded; too high a learning rate therefore often ends in a
large constant loss, not in one that is infinite. Batches are fresh, so a student above its start has not
overfitted: its training has failed, and an exponent through it means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NEVER = -1
"""In place of a step, for students that are better than untrained at the end."""

STANDARD_ERRORS = 3.0
"""How far above the untrained loss the last test must be to count as worse."""


def saturated_since(
    step: Sequence[int],
    train: NDArray[np.float64],
    test: NDArray[np.float64],
    untrained: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the step (students,) from which each student stayed worse than untrained, or `NEVER`.

    Parameters
    ----------
    step
        (rows,) logged steps.
    train
        (rows, students) mean training loss since the row before.
    test
        (students, batches) last test losses; NaN for students that diverged, which are not judged.
    untrained
        (students, batches) test losses before the first step.
    """
    start = untrained.mean(1)
    worse = test.mean(1) - start > STANDARD_ERRORS * np.sqrt(_variance(test) + _variance(untrained))
    # Rows from the end backwards as long as they are above the start.
    tail = np.logical_and.accumulate(train[::-1] > start, axis=0).sum(0)
    since = np.asarray(step)[np.maximum(len(step) - np.maximum(tail, 1), 0)]
    return np.where(worse, since, NEVER).astype(np.int64)


def _variance(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared standard error of the mean over batches; 0 for a single one."""
    n = losses.shape[1]
    return losses.var(1, ddof=1) / n if n > 1 else np.zeros(len(losses))
