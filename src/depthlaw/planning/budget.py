"""A budget and the allocation that is best under it: one object for parameters, compute and tokens, on free
shapes or along a ray.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthlaw.errors import UsageError
from depthlaw.laws.form import Form
from depthlaw.numerics.terms import Array
from depthlaw.planning.allocate import Best, Laws, best_on_ray, best_shape, best_under_compute
from depthlaw.planning.counting import Count
from depthlaw.planning.plan_config import PlanConfig
from depthlaw.planning.support import Dial

TOKENS_PER_PARAMETER = 20.0
"""Training tokens where none are asked for: the rule of thumb after Hoffmann et al. 2022."""


@dataclass(frozen=True)
class Budget:
    """What is held fixed.

    Attributes
    ----------
    count
        What ``total`` counts for a shape: parameters, or FLOP per token.
    total
        Bound on ``count``, or on ``count`` × tokens when ``shared``.
    shared
        Whether tokens compete with the model for ``total``.
    tokens
        Training tokens when they are fixed; NaN where the law has no such term.
    depths
        Depths allowed.
    ray
        Line to keep to.
    words
        The budget in words, one line each.
    """

    count: Count
    total: float
    shared: bool
    tokens: float
    depths: tuple[float, float] | None
    ray: Dial | None
    words: tuple[str, ...]

    def best(self, laws: Laws, depths: tuple[float, float] | None = None) -> Best:
        """The best allocation under each law; ``depths`` narrows the depths allowed."""
        depths = depths or self.depths
        if self.ray is not None:
            return best_on_ray(laws, self.count, self.total, self.ray, shared=self.shared)
        if self.shared:
            return best_under_compute(laws, self.count, self.total, depths=depths)
        return best_shape(laws, self.count, self.total, depths=depths)

    def at_depth(self, laws: Laws, depth: float) -> Best:
        """The best of the rest, the depth given."""
        return self.best(laws, (depth, depth))

    def tokens_of(self, best: Best) -> Array:
        """Tokens of an allocation (laws,), NaN where the law knows none."""
        return np.full(len(best.width), self.tokens) if best.tokens is None else best.tokens

    def loss(self, laws: Laws, best: Best) -> Array:
        """Loss of an allocation (laws,)."""
        return laws.loss(width=best.width, depth=best.depth, tokens=self.tokens_of(best))

    def scaled(self, laws: Laws, total: float) -> Array:
        """Best losses (laws,) under another ``total``."""
        from dataclasses import replace

        other = replace(self, total=total, depths=None)
        return other.loss(laws, other.best(laws))


def budget_of(config: PlanConfig, form: Form, ray: Dial | None) -> Budget:
    """What a configuration holds fixed, for laws of ``form``.

    Raises
    ------
    UsageError
        If compute is to be shared with tokens that the law does not know.
    """
    config.require_budget()
    count, per_token = config.parameters, config.per_token
    depths = (
        None if config.depth_range is None else (float(config.depth_range[0]), float(config.depth_range[1]))
    )
    knows_tokens = "tokens" in form.scales
    if config.params is not None:
        words = [f"{config.params:.4g} parameters ({count.label})"]
        tokens = np.nan
        if config.flops is not None:
            tokens = config.flops / (6.0 * config.params)
            words.append(f"{tokens:.4g} tokens: {config.flops:.4g} FLOP at 6 N D")
        elif knows_tokens:
            tokens = config.tokens or TOKENS_PER_PARAMETER * config.params
            words.append(
                f"{tokens:.4g} tokens" + ("" if config.tokens else " (20 for every parameter: none given)")
            )
        return Budget(count, config.params, False, tokens, depths, ray, tuple(words))
    assert config.flops is not None, "require_budget holds this"
    words = [f"{config.flops:.4g} FLOP of training ({per_token.label})"]
    if config.tokens is not None:
        words.append(f"{config.tokens:.4g} tokens")
        total = config.flops / config.tokens
        return Budget(per_token, total, False, config.tokens, depths, ray, tuple(words))
    if not knows_tokens:
        raise UsageError(
            "the law has no tokens term: compute cannot be shared between model and data.",
            "Give tokens, or a budget of params.",
        )
    return Budget(per_token, config.flops, True, np.nan, depths, ray, tuple(words))
