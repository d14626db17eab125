"""The smallest model, or the least compute, that reaches a loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from depthlaw.laws.result import Fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.allocate import Best, Laws, best_shape, best_under_compute
from depthlaw.planning.answers import Answer, Reach
from depthlaw.planning.counting import NOMINAL, TRAINING_PASSES
from depthlaw.planning.draws import parameter_draws
from depthlaw.planning.refuse import require_shape
from depthlaw.planning.support import distance

BUDGETS = (4.0, 160.0)
"""Logs of the budgets searched, parameters or FLOP."""


def cheapest(
    fit: Fit, loss: float, given: Mapping[str, float], level: float, resamples: int, seed: int
) -> Reach:
    """Fewest parameters (12 m²ℓ) when tokens are given, else least compute (6·N·D), by the best allocation.

    Raises
    ------
    FitError
        If the data do not determine the best shape.
    """
    require_shape(fit)
    sampled = parameter_draws(fit, resamples, seed)
    laws = Laws(fit.form, np.vstack([fit.point, sampled.points]))
    floor = laws.loss(**given)  # nothing but the terms that more model or compute cannot lower
    budget, best = _least(laws, loss, given, floor)
    low, high = sampled.interval(budget[1:], level)
    limits = sampled.interval(floor[1:], level)
    what = "params" if given else "flops"
    reached = bool(np.isfinite(budget[0]))
    tokens = best.tokens if best.tokens is not None else np.full(len(budget), given.get("tokens", np.nan))
    at = {"width": float(best.width[0]), "depth": float(best.depth[0]), "tokens": float(tokens[0])}
    reason = ""
    if not reached:
        reason = f"without end of {'model' if given else 'compute'} the loss is {floor[0]:.4g}"
        reason += f" [{limits[0]:.4g}, {limits[1]:.4g}]"
        if limits[0] < loss:
            reason += "; its interval holds the loss asked for, so the data do not exclude it"
    return Reach(
        loss=loss,
        what=what,
        answer=Answer.REACHED if reached else Answer.UNREACHABLE,
        value=float(budget[0]) if reached else None,
        low=float(low) if reached else None,
        high=float(high) if reached else None,
        limit=float(floor[0]),
        limit_low=float(limits[0]),
        limit_high=float(limits[1]),
        at=at if reached else dict(given),
        distance=distance(fit, {s: np.array([v]) for s, v in at.items()}) if reached else None,
        reason=reason,
        how=f"quantiles of {sampled.how}",
    )


def _least(laws: Laws, loss: float, given: Mapping[str, float], floor: Array) -> tuple[Array, Best]:
    """Smallest budget (laws,) under which each law's best loss is ``loss``, by bisection in its log."""
    per_token = NOMINAL.times(TRAINING_PASSES, "")

    def allocate(log_budget: Array) -> Best:
        if given:
            return best_shape(laws, NOMINAL, np.exp(log_budget))
        return best_under_compute(laws, per_token, np.exp(log_budget))

    low, high = (np.full(len(laws.points), end) for end in BUDGETS)
    for _ in range(60):
        middle = 0.5 * (low + high)
        best = allocate(middle)
        tokens = given["tokens"] if best.tokens is None else best.tokens
        above = laws.loss(width=best.width, depth=best.depth, tokens=tokens) > loss
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(floor < loss, np.exp(high), np.inf), allocate(high)
