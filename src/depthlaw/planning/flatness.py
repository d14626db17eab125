"""How flat the loss is around the best shape, and what it costs to be wrong about the law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import optimize

from depthlaw.planning.allocate import Laws
from depthlaw.planning.budget import Budget
from depthlaw.planning.planned import Curve, Flat

SHARES = (0.001, 0.005, 0.01)
"""Excess over the best loss for which the range of depths is given."""
STEPS = 41
SPREAD = 6.0
"""Curves reach from the best depth divided by this to the best depth times this."""


def flat_ranges(laws: Laws, budget: Budget, depth: float) -> tuple[Flat, ...]:
    """Depths at equal cost within each of `SHARES` of the best loss of real numbers.

    Parameters
    ----------
    laws
        The best-fitting law alone.
    depth
        The best depth.
    """
    best_loss = float(budget.loss(laws, budget.at_depth(laws, depth))[0])

    def excess(u: float, share: float) -> float:
        loss = float(budget.loss(laws, budget.at_depth(laws, float(np.exp(u))))[0])
        return loss / best_loss - 1.0 - share if np.isfinite(loss) else 1.0

    found = []
    for share in SHARES:
        ends = [_end(excess, share, np.log(depth), sign, laws.offset("depth")) for sign in (-1.0, 1.0)]
        if budget.depths is not None:
            ends = [float(np.clip(end, *budget.depths)) for end in ends]
        widths = [float(budget.at_depth(laws, end).width[0]) for end in ends]
        found.append(Flat(share, (ends[0], ends[1]), (widths[0], widths[1])))
    return tuple(found)


def _end(excess: object, share: float, centre: float, sign: float, offset: float) -> float:
    step = 0.1
    lowest = np.log(offset + 1e-3) if offset else -20.0
    while (u := centre + sign * step) > lowest and step < 20 and excess(u, share) < 0:  # type: ignore[operator]
        step *= 1.5
    u = max(u, lowest)
    if excess(u, share) < 0:  # type: ignore[operator]
        return float(np.exp(u))
    return float(np.exp(optimize.brentq(excess, centre, u, args=(share,), xtol=1e-7)))


def curve_at_equal_cost(laws: Laws, sampled: Laws, budget: Budget, depth: float, level: float) -> Curve:
    """Loss against depth at equal cost, relative to the best; the band is over the sampled laws."""
    low = max(depth / SPREAD, laws.offset("depth") + 1.0)
    depths = np.geomspace(low, depth * SPREAD, STEPS)
    tails = [(1 - level) / 2, (1 + level) / 2]
    best = float(budget.loss(laws, budget.best(laws))[0])
    theirs = budget.loss(sampled, budget.best(sampled))
    rows = []
    for at in depths:
        one = budget.at_depth(laws, float(at))
        many = budget.loss(sampled, budget.at_depth(sampled, float(at))) / theirs - 1.0
        band = np.nanquantile(many, tails)
        excess = float(budget.loss(laws, one)[0]) / best - 1.0
        rows.append((at, one.width[0], budget.tokens_of(one)[0], excess, *band))
    return Curve(*(np.array(column, float) for column in zip(*rows, strict=True)))


def regret(sampled: Laws, budget: Budget, at: Mapping[str, float], level: float) -> tuple[float, float]:
    """Excess of the loss at one allocation over the best of each sampled law: median and upper quantile."""
    excess = sampled.loss(**at) / budget.loss(sampled, budget.best(sampled)) - 1.0
    median, high = np.nanquantile(np.maximum(excess, 0.0), [0.5, level])
    return float(median), float(high)
