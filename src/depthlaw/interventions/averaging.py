"""The test of averaging: what skipping and swapping middle blocks cost, beside what each regime predicts.

Ensemble averaging: the blocks of the middle are like members of a committee. Leaving one out of ℓ raises the
loss by the same amount, whichever it is: by c(ℓ−1)^-α − cℓ^-α, of order 1/ℓ of the depth term, when the
network is trained without it; without retraining by about the depth term itself (`STUDENTS`). Exchanging two
blocks d apart changes the output by their commutators with each other and with the d − 1 blocks between them,
2d − 1 in all. Each is small, and independent ones add up in squares: the loss, quadratic in the error, grows
as 2d − 1.
Smooth flow: a block differs from its neighbours by little, and in proportion to the distance. Commutators are
then coherent and proportional to distance, their sum goes as d², and the loss as d⁴.
Both hold to leading order and are checked on stacks made one way and the other (tests).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depthlaw.interventions.plan import Plan

SWAP_IF_FLOW = 4.0
"""Exponent of the cost of a swap over its distance, under a smooth flow; 2d − 1 is no power of d, so that
its slope goes with the distances that are swapped: `Swaps.averaging`."""


STUDENTS = "1.4 to 2.1 times the depth term, sd/mean 0.05 to 0.07; a neighbour swap 0.002 to 0.009 of a skip"
"""What trained averaging students of the laboratory show (rho 0, preset ``mse``, 6,000 steps, depths 12, 24,
48). A block that is left out without retraining takes its share of the common direction along, which is why a
skip costs them more than one block less costs a network that was trained without it."""


@dataclass(frozen=True)
class Skips:
    """What leaving out one block of the middle costs, nats per token.

    Attributes
    ----------
    blocks
        How many were tried and have a cost.
    mean, median, lowest, highest
        Over them.
    variation
        Standard deviation over mean: 0 when all cost the same.
    predicted
        Under averaging, from the depth term of a law.
    depth_term
        c·ℓ^-α of that law.
    """

    blocks: int
    mean: float
    median: float
    lowest: float
    highest: float
    variation: float
    predicted: float
    depth_term: float


@dataclass(frozen=True)
class Swaps:
    """How the cost of exchanging two middle blocks goes with their distance.

    Attributes
    ----------
    distances
        Distances tried.
    cost
        Mean KL(intact ‖ swapped) at each, nats per token.
    stderr
        Its standard error over places; NaN for one place.
    exponent
        Slope of ln cost on ln distance over all swaps; NaN for a single distance.
    exponent_stderr
        Of least squares, places taken as independent.
    averaging
        Slope that 2d − 1 has over the same swaps: what the exponent is under averaging.
    """

    distances: tuple[int, ...]
    cost: tuple[float, ...]
    stderr: tuple[float, ...]
    exponent: float
    exponent_stderr: float
    averaging: float


def middle_skips(
    plans: Sequence[Plan], cost: Sequence[float], depth: int, law: tuple[float, float]
) -> Skips | None:
    """Gather the single skips of middle blocks; ``None`` when there are none.

    Parameters
    ----------
    cost
        (plans,) change of cross-entropy, nats per token.
    law
        c and α of the depth term c·ℓ^-α.
    """
    middle = [
        value
        for plan, value in zip(plans, cost, strict=True)
        if plan.kind == "skip"
        and plan.size == 1
        and plan.first is not None
        and 0 < plan.first < depth - 1
        and math.isfinite(value)
    ]
    if not middle:
        return None
    c, alpha = law
    values = np.asarray(middle)
    mean = float(values.mean())
    return Skips(
        blocks=len(middle),
        mean=mean,
        median=float(np.median(values)),
        lowest=float(values.min()),
        highest=float(values.max()),
        variation=float(values.std(ddof=1) / mean) if len(middle) > 1 and mean > 0 else math.nan,
        predicted=c * (depth - 1) ** -alpha - c * depth**-alpha,
        depth_term=c * depth**-alpha,
    )


def middle_swaps(plans: Sequence[Plan], cost: Sequence[float], depth: int) -> Swaps | None:
    """Gather the swaps within the middle; ``None`` when there are none.

    Parameters
    ----------
    cost
        (plans,) KL(intact ‖ plan), nats per token.
    """
    pairs = [
        (plan.size, value)
        for plan, value in zip(plans, cost, strict=True)
        if plan.kind == "swap"
        and plan.first
        and plan.size
        and plan.first + plan.size < depth - 1
        and math.isfinite(value)
    ]
    if not pairs:
        return None
    distance, value = (np.asarray(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    known = np.unique(distance)
    groups = [value[distance == d] for d in known]
    good = value > 0
    exponent, error = _slope(distance[good], value[good])
    averaging, _ = _slope(distance[good], 2 * distance[good] - 1)
    return Swaps(
        distances=tuple(int(d) for d in known),
        cost=tuple(float(group.mean()) for group in groups),
        stderr=tuple(
            float(group.std(ddof=1) / math.sqrt(len(group))) if len(group) > 1 else math.nan
            for group in groups
        ),
        exponent=exponent,
        exponent_stderr=error,
        averaging=averaging,
    )


def _slope(distance: np.ndarray, value: np.ndarray) -> tuple[float, float]:
    if len(value) < 3:
        return math.nan, math.nan
    x, y = np.log(distance), np.log(value)
    x = x - x.mean()
    if not (square := float(x @ x)):
        return math.nan, math.nan
    slope = float(x @ y) / square
    rest = y - y.mean() - slope * x
    return slope, math.sqrt(float(rest @ rest) / (len(x) - 2) / square)
