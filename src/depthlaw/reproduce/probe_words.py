"""What a probe shows for Fig. 2a to 2d, in sentences with numbers, beside those of `probe.findings`."""

from __future__ import annotations

import math

import numpy as np

from depthlaw.probe.result import ProbeResult


def normed(result: ProbeResult) -> tuple[str, ...]:
    """What the final norm does to the last angle."""
    if "theta_state_normed" not in result.quantities:
        return ()
    after, raw = float(result.layers("theta_state_normed")[0]), float(result.layers("theta_state")[-1])
    return (
        f"The last angle is {raw:.2f} rad in the residual stream, and {after:.2f} with the state after the "
        "final norm, which the published script takes.",
    )


def halves(result: ProbeResult) -> tuple[str, ...]:
    """Whether two halves of the documents say the same."""
    found, sample = result.trajectories, result.gathered.sample
    if found is None or sample is None:
        return ()
    odd = np.unique(sample.document, return_inverse=True)[1] % 2 == 1
    if odd.all() or not odd.any():
        return ()
    gap = np.abs(np.nanmean(sample.theta_state[odd], axis=0) - np.nanmean(sample.theta_state[~odd], axis=0))
    said = (
        f"Two halves of the documents: their mean angles differ by {gap[1:-1].mean():.3f} rad in the middle "
        f"on average, by {gap.max():.3f} at most (block {int(gap.argmax()) + 1})"
    )
    if not math.isnan(found.agreement):
        said += f"; they agree on {found.agreement:.0%} of the tokens that either calls early"
    return (f"{said}.",)
