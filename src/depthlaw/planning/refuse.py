"""When planning must be refused, with the reason and the runs that would mend it."""

from __future__ import annotations

from depthlaw.errors import FitError, UsageError
from depthlaw.laws.result import Fit, Status

SHAPE = ("width", "depth")


def shape_refusal(fit: Fit) -> str | None:
    """Why the fit cannot tell how to share parameters between width and depth; ``None`` when it can."""
    for scale in SHAPE:
        name = f"alpha_{scale}"
        if name not in {p.name for p in fit.params}:
            continue
        known = fit[name]
        if known.status in (Status.NOT_IDENTIFIED, Status.DROPPED):
            return known.reason
        if known.value == 0.0:
            return f"the fit finds no effect of {scale}: its exponent is 0"
    return None


def require_terms(fit: Fit) -> None:
    """Refuse a law without terms for width and depth.

    Raises
    ------
    UsageError
        If one was not asked for.
    """
    names = {p.name for p in fit.params}
    for scale in SHAPE:
        if f"alpha_{scale}" not in names:
            raise UsageError(
                f"the law {fit.form} has no {scale} term: it cannot say which shape is best.",
                'Fit one that has: --form "width + depth + tokens".',
            )


def require_shape(fit: Fit) -> None:
    """Refuse a fit that cannot tell which shape is best.

    Raises
    ------
    UsageError
        If the law has no terms for width and depth.
    FitError
        If their exponents are not identified.
    """
    require_terms(fit)
    why = shape_refusal(fit)
    if why is not None:
        raise FitError(f"the best shape is not identified: {why}.")
