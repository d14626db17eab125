"""Does the loss rise with a scale? A law has no term that does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from depthlaw.numerics.terms import Array

SURE = 3.0
"""Standard errors from which a slope counts as one."""


def rising(scale: str, scales: Mapping[str, Array], log_loss: Array) -> str:
    """Say so if the loss rises with ``scale``, all else equal, or never changes; empty if neither is plain.

    Least squares of ln L on the logs of all scales: no law, but the direction shows.

    Parameters
    ----------
    scales
        (runs,) by name.
    log_loss
        (runs,) ln L, from any zero.
    """
    if not np.ptp(log_loss):
        return f"every loss is the same, the {scale} term has no effect on them"
    names = list(scales)
    design = np.stack([np.ones(len(log_loss)), *(np.log(scales[name]) for name in names)], 1)
    slopes, _, rank, _ = np.linalg.lstsq(design, log_loss, rcond=None)
    freedom = len(log_loss) - design.shape[1]
    if rank < design.shape[1] or freedom < 1:
        return ""
    place = 1 + names.index(scale)
    variance = float(np.sum((log_loss - design @ slopes) ** 2)) / freedom
    error = float(np.sqrt(variance * np.linalg.inv(design.T @ design)[place, place]))
    slope = float(slopes[place])
    if not slope > SURE * error:
        return ""
    low, high = float(scales[scale].min()), float(scales[scale].max())
    share = 100 * np.expm1(slope * np.log(high / low))
    return (
        f"the loss does not fall with {scale}, all else equal it rises "
        f"(by {share:.2g} % from {scale} {low:g} to {high:g})"
    )
