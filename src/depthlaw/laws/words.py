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
    places = _places(low, high)
    level = "" if fit.level == 0.95 else f" ({100 * fit.level:.4g} %)"
    head = f"{scale} exponent {estimate.value:.{places}f} [{low:.{places}f}, {high:.{places}f}]{level}"
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


def _places(low: float, high: float) -> int:
    """Decimals with which no end of an interval is rounded across the value that it excludes or contains."""
    for places in range(2, 6):
        ends = round(low, places), round(high, places)
        if all((low <= v <= high) == (ends[0] <= v <= ends[1]) for v in _MEANING):
            return places
    return 6
