"""One sentence of verdict on the depth exponent, in plain words."""

from __future__ import annotations

from depthlaw.laws.result import Fit, Status

INVERSE_DEPTH = 1.0
"""Exponent of ensemble averaging (paper, section 3)."""
SMOOTH_DYNAMICS = 3.0
"""Exponent of a converged discretisation of smooth dynamics by plain residual steps."""

_MEANING = {INVERSE_DEPTH: "inverse depth scaling (1)", SMOOTH_DYNAMICS: "smooth dynamics (3)"}


def verdict(fit: Fit, scale: str = "depth") -> str:
    """Say what the fit means for the exponent of ``scale``.

    >>> verdict(fit)  # doctest: +SKIP
    'depth exponent 1.33 [0.93, 1.74]: compatible with inverse depth scaling (1); excludes …'
    """
    name = f"alpha_{scale}"
    if name not in {p.name for p in fit.params}:
        return f"the law has no {scale} term."
    estimate = fit[name]
    if estimate.status in (Status.NOT_IDENTIFIED, Status.DROPPED):
        return f"{scale} exponent not identified: {estimate.reason}."
    if estimate.status is Status.FIXED:
        return f"{scale} exponent fixed at {estimate.value:.3g}."
    if estimate.interval is None or estimate.value is None:
        return f"{scale} exponent at the boundary of what is possible: {estimate.reason}."
    low, high = estimate.interval
    head = f"{scale} exponent {estimate.value:.2f} [{low:.2f}, {high:.2f}]"
    if scale != "depth":
        return f"{head}."
    inside = [words for value, words in _MEANING.items() if low <= value <= high]
    outside = [words for value, words in _MEANING.items() if not low <= value <= high]
    parts = []
    if inside:
        parts.append("compatible with " + " and with ".join(inside))
    if outside:
        parts.append("excludes " + " and ".join(outside))
    return f"{head}: {'; '.join(parts)}."
