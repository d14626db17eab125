"""A given shape against the best at equal cost, and what small changes are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from scipy import optimize

from depthlaw.laws.form import Form
from depthlaw.numerics.terms import Array
from depthlaw.planning.allocate import Laws
from depthlaw.planning.budget import Budget
from depthlaw.planning.plan_config import PlanConfig
from depthlaw.planning.planned import Margin, Range, WhatIf
from depthlaw.planning.region import Quantity

Ranger = Callable[[Quantity], Range]
"""Gives a quantity of the law its value and interval."""

CHANGES: tuple[tuple[str, Mapping[str, Callable[[float], float]]], ...] = (
    ("one more layer", {"depth": lambda x: x + 1.0}),
    ("10 % more width", {"width": lambda x: 1.1 * x}),
    ("10 % more tokens", {"tokens": lambda x: 1.1 * x}),
)


def what_if(
    form: Form, point: Array, budget: Budget, config: PlanConfig, shape: tuple[int, int], ranged: Ranger
) -> WhatIf:
    """Hold a shape against the best at equal cost.

    With tokens fixed the cost is what the budget counts. Where tokens share the budget, the shape is trained
    on the tokens that the whole compute allows, and so is the best.
    """
    width, depth = float(shape[0]), float(shape[1])
    spent = float(budget.count(np.array(width), np.array(depth)))
    own = budget if budget.shared else replace(budget, total=spent)
    own = replace(own, depths=None)
    tokens = budget.total / spent if budget.shared else budget.tokens
    laws = Laws(form, point[None])
    best = own.best(laws)
    best_loss = float(own.loss(laws, best)[0])
    loss = float(laws.loss(width=width, depth=depth, tokens=tokens)[0])

    def excess(points: Array) -> Array:
        some = Laws(form, points)
        theirs = own.loss(some, own.best(some))
        return np.asarray(np.log(some.loss(width=width, depth=depth, tokens=tokens) / theirs))

    gap = ranged(excess)
    saving = float("nan")
    if loss > best_loss * (1 + 1e-12):
        # How much smaller could the budget be at the best shape?
        def worse(log_total: float) -> float:
            return float(own.scaled(laws, own.total * np.exp(log_total))[0]) - loss

        low = -0.1
        while worse(low) < 0 and low > -20:
            low *= 2
        saving = 1.0 - float(np.exp(optimize.brentq(worse, low, 0.0))) if worse(low) > 0 else float("nan")
    else:
        saving = 0.0
    depths = ranged(lambda points: np.log(own.best(Laws(form, points)).depth))
    return WhatIf(
        width=shape[0],
        depth=shape[1],
        params=float(config.parameters(np.array(width), np.array(depth))),
        tokens=tokens,
        loss=loss,
        best_loss=best_loss,
        best_width=float(best.width[0]),
        best_depth=float(best.depth[0]),
        excess=Range(gap.value, max(gap.low, 0.0), gap.high),
        saving=saving,
        within=bool(np.exp(depths.low) <= depth <= np.exp(depths.high)),
    )


def margins(form: Form, at: Mapping[str, float], config: PlanConfig, ranged: Ranger) -> tuple[Margin, ...]:
    """What one more layer, 10 % more width and 10 % more tokens are worth at a point."""
    at = {s: x for s, x in at.items() if s in form.scales}
    found = []
    for words, change in CHANGES:
        scale = next(iter(change))
        if scale not in at:
            continue
        after = {**at, scale: change[scale](at[scale])}

        def gain(points: Array, after: Mapping[str, float] = after) -> Array:
            laws = Laws(form, points)
            return laws.loss(**at) - laws.loss(**after)

        size = [
            float(config.parameters(np.array(where["width"]), np.array(where["depth"])))
            for where in (at, after)
        ]
        flops = [
            float(config.per_token(np.array(where["width"]), np.array(where["depth"])))
            * where.get("tokens", 1.0)
            for where in (at, after)
        ]
        found.append(Margin(words, ranged(gain), size[1] / size[0] - 1, flops[1] / flops[0] - 1))
    return tuple(found)


def training_flops(config: PlanConfig, width: float, depth: float, tokens: float) -> float | None:
    """Training FLOP of a shape, as the configuration counts them; ``None`` without tokens."""
    if not np.isfinite(tokens):
        return None
    return float(config.per_token(np.array(width), np.array(depth))) * tokens
