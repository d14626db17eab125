"""Choose experiments within a budget so that a quantity becomes best known: greedy, then exchanges.

Robust designs are good on average over laws: the criterion is the mean over laws of ln var of the quantity
(c-optimal), or of −ln det of the information (D-optimal); Atkinson, Donev and Tobias 2007, *Optimum
Experimental Designs, with SAS*, chapters 10, 12 and 17.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthlaw.numerics.terms import Array

COST_POWERS = (0.0, 0.5, 1.0)
"""Greedy choices are by gain / cost^power for each of these; the best after exchanges is taken."""
PASSES = 4


@dataclass(frozen=True)
class Candidates:
    """What can be chosen.

    Attributes
    ----------
    rows
        (laws, candidates, free) derivative rows in units of the noise.
    cost
        (candidates,).
    repeats
        How often each may be chosen.
    """

    rows: Array
    cost: Array
    repeats: int


def criterion(information: Array, goal: Array | None) -> float:
    """Mean over laws of ln var(goal), or of −ln det/free without one; smaller is better."""
    if goal is None:
        log_determinant: Array = np.linalg.slogdet(information)[1]
        return -float(np.mean(log_determinant)) / float(information.shape[-1])
    solved = np.linalg.solve(information, goal[:, :, None])[:, :, 0]
    variance = np.einsum("bi,bi->b", goal, solved)
    return float(np.mean(np.log(variance)))


def choose(
    now: Array, candidates: Candidates, goal: Array | None, budget: float, most: int
) -> tuple[int, ...]:
    """Indices of the candidates to run, with repeats.

    Parameters
    ----------
    now
        (laws, free, free) information at hand.
    goal
        (laws, free) gradient of the quantity; ``None`` for all parameters together.
    """
    best: tuple[float, list[int]] = (np.inf, [])
    for power in COST_POWERS:
        chosen: list[int] = []
        for _ in range(PASSES):
            chosen, added = _fill(now, candidates, goal, budget, most, chosen, power)
            chosen, changed = _exchange(now, candidates, goal, budget, chosen)
            if not (added or changed):
                break
        value = criterion(_with(now, candidates, chosen), goal)
        if value < best[0] - 1e-12:
            best = (value, chosen)
    return tuple(sorted(best[1]))


def _with(now: Array, candidates: Candidates, chosen: list[int]) -> Array:
    rows = candidates.rows[:, chosen]
    whole: Array = now + np.einsum("bki,bkj->bij", rows, rows)
    return whole


def _gains(information: Array, candidates: Candidates, goal: Array | None) -> Array:
    """Decrease of the criterion (candidates,) by adding each: rank-one updates."""
    solved = np.linalg.solve(information, candidates.rows.transpose(0, 2, 1))  # (laws, free, candidates)
    leverage = np.einsum("bki,bik->bk", candidates.rows, solved)
    if goal is None:
        gain: Array = np.log1p(leverage).mean(0) / information.shape[-1]
        return gain
    along = np.einsum("bi,bik->bk", goal, solved)
    variance = np.einsum("bi,bi->b", goal, np.linalg.solve(information, goal[:, :, None])[:, :, 0])
    share = np.clip(along**2 / (1 + leverage) / variance[:, None], 0.0, 1.0 - 1e-12)
    gain = -np.log1p(-share).mean(0)
    return gain


def _allowed(candidates: Candidates, chosen: list[int], left: float) -> Array:
    used = np.bincount(chosen, minlength=len(candidates.cost)) if chosen else np.zeros(len(candidates.cost))
    return np.asarray((used < candidates.repeats) & (candidates.cost <= left * (1 + 1e-12)))


def _fill(
    now: Array,
    candidates: Candidates,
    goal: Array | None,
    budget: float,
    most: int,
    chosen: list[int],
    power: float,
) -> tuple[list[int], bool]:
    chosen, added = list(chosen), False
    while len(chosen) < most:
        allowed = _allowed(candidates, chosen, budget - candidates.cost[chosen].sum())
        if not allowed.any():
            break
        gains = _gains(_with(now, candidates, chosen), candidates, goal) / candidates.cost**power
        chosen.append(int(np.argmax(np.where(allowed, gains, -np.inf))))
        added = True
    return chosen, added


def _exchange(
    now: Array, candidates: Candidates, goal: Array | None, budget: float, chosen: list[int]
) -> tuple[list[int], bool]:
    chosen, changed = list(chosen), False
    for place in range(len(chosen)):
        rest = chosen[:place] + chosen[place + 1 :]
        allowed = _allowed(candidates, rest, budget - candidates.cost[rest].sum())
        gains = np.where(allowed, _gains(_with(now, candidates, rest), candidates, goal), -np.inf)
        best = int(np.argmax(gains))
        if gains[best] > gains[chosen[place]] + 1e-9:
            chosen[place] = best
            changed = True
    return chosen, changed
