"""Shapes of whole numbers within a budget: one a width, the best of each, ranked by predicted loss."""

from __future__ import annotations

import math

import numpy as np

from depthlaw.errors import UsageError
from depthlaw.planning.allocate import Laws
from depthlaw.planning.budget import Budget
from depthlaw.planning.plan_config import PlanConfig
from depthlaw.planning.planned import Buildable

SPAN = 2.0
"""Widths are looked for within this factor of the best."""


def buildable_shapes(
    laws: Laws, budget: Budget, config: PlanConfig, width: float, best_loss: float
) -> tuple[Buildable, ...]:
    """The best shapes that can be built.

    Parameters
    ----------
    laws
        The best-fitting law alone.
    width
        The best width of real numbers.
    best_loss
        Loss there.

    Raises
    ------
    UsageError
        If no width that can be built is within reach, or none has an allowed depth.
    """
    step = math.lcm(config.width_multiple, config.head_dim * config.queries_per_key)
    first, last = math.ceil(width / SPAN / step), math.floor(width * SPAN / step)
    widths = [k * step for k in range(max(first, 1), max(last, 1) + 1)]
    # Around the best depth of a width the loss is flat; a hundred widths are plenty to rank.
    widths = sorted(widths, key=lambda w: abs(math.log(w / width)))[:100]
    found = [shape for w in widths if (shape := _best_of_width(laws, budget, config, w, best_loss))]
    if not found:
        raise UsageError(
            f"no shape with a width that is a multiple of {step} fits the budget.",
            "Use a smaller --width-multiple or --head-dim, or another --depth-range.",
        )
    return tuple(sorted(found, key=lambda shape: shape.loss)[: config.show])


def _best_of_width(
    laws: Laws, budget: Budget, config: PlanConfig, width: int, best_loss: float
) -> Buildable | None:
    low, high = (1, 100_000) if config.depth_range is None else config.depth_range
    low = max(low, int(laws.offset("depth")) + 1)
    if budget.shared:
        return _with_tokens(laws, budget, config, width, best_loss, (low, high))
    exact = config.exact_params if config.params is not None else config.exact_per_token
    one, two = exact(width, 1), exact(width, 2)
    depth = min(math.floor((budget.total - one) / (two - one) * (1 + 1e-12)) + 1, high)
    if depth < low:
        return None
    tokens = budget.tokens
    return _made(laws, config, width, depth, tokens, best_loss, exact(width, depth) / budget.total)


def _with_tokens(
    laws: Laws, budget: Budget, config: PlanConfig, width: int, best_loss: float, depths: tuple[int, int]
) -> Buildable | None:
    one, two = config.exact_per_token(width, 1), config.exact_per_token(width, 2)
    depth = np.arange(depths[0], min(depths[1], 1000) + 1, dtype=float)
    tokens = budget.total / (one + (two - one) * (depth - 1))
    usable = tokens > laws.offset("tokens")
    if width <= laws.offset("width") or not usable.any():
        return None
    depth, tokens = depth[usable], tokens[usable]
    many = Laws(laws.form, np.repeat(laws.points, len(depth), axis=0))
    best = int(np.argmin(many.loss(width=float(width), depth=depth, tokens=tokens)))
    return _made(laws, config, width, int(depth[best]), float(tokens[best]), best_loss, 1.0)


def _made(
    laws: Laws, config: PlanConfig, width: int, depth: int, tokens: float, best_loss: float, used: float
) -> Buildable:
    loss = float(laws.loss(width=float(width), depth=float(depth), tokens=tokens)[0])
    return Buildable(
        width=width,
        depth=depth,
        tokens=tokens,
        loss=loss,
        above_best=loss / best_loss - 1.0,
        used=used,
        count=config.architecture.count(width, depth),
        flops=config.exact_per_token(width, depth) * tokens,
        config=config.architecture.config(width, depth),
    )
