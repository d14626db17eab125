"""A plan as a result: what was found, with intervals, in natural units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import Notice
from depthlaw.numerics.terms import Array
from depthlaw.planning.architecture import ParameterCount
from depthlaw.planning.plan_config import PlanConfig
from depthlaw.planning.support import Distance

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Range:
    """A value with its interval; ends may be infinite (open) or NaN (not found)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Growth:
    """How the best depth grows with width, ℓ = prefactor · m^exponent, and what the model terms do then.

    Attributes
    ----------
    prefactor, exponent
        Of the best depth; known where parameters are counted as a multiple of m²ℓ.
    model_exponent
        γ of the model terms ∝ N^-γ at the best shape.
    """

    prefactor: Range
    exponent: Range
    model_exponent: Range


@dataclass(frozen=True)
class Flat:
    """Depths at equal cost whose loss is within ``share`` of the best, widths (and tokens) adapted.

    Attributes
    ----------
    depth, width
        At the shallow and at the deep end.
    """

    share: float
    depth: tuple[float, float]
    width: tuple[float, float]


@dataclass(frozen=True)
class Buildable:
    """A shape of whole numbers.

    Attributes
    ----------
    tokens
        Training tokens, NaN where the law knows none.
    loss, above_best
        Predicted loss, and its excess over the best of real numbers, relative.
    used
        Share of the budget that is used.
    count
        Exact parameters.
    flops
        Training FLOP.
    config
        For transformers.
    """

    width: int
    depth: int
    tokens: float
    loss: float
    above_best: float
    used: float
    count: ParameterCount
    flops: float
    config: Mapping[str, Any]


@dataclass(frozen=True)
class WhatIf:
    """A given shape against the best at equal cost.

    Attributes
    ----------
    params, tokens
        Of both.
    loss, best_loss
        Of the shape and of the best.
    best_width, best_depth
        The best at equal cost.
    excess
        ln(loss / best loss), with its interval.
    saving
        Share of the parameters that the best shape of equal loss would save (compute, for a compute budget).
    within
        Whether the shape's depth lies in the interval of the best depth at this cost.
    """

    width: int
    depth: int
    params: float
    tokens: float
    loss: float
    best_loss: float
    best_width: float
    best_depth: float
    excess: Range
    saving: float
    within: bool


@dataclass(frozen=True)
class Margin:
    """What a small change of the best shape is worth.

    Attributes
    ----------
    change
        In words.
    gain
        Loss saved, with its interval.
    params, flops
        Relative increase of both.
    """

    change: str
    gain: Range
    params: float
    flops: float


@dataclass(frozen=True)
class Curve:
    """The loss along equal cost, (depths,) each; the band is the sampled laws' excess over their best."""

    depth: Array
    width: Array
    tokens: Array
    excess: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Shown):
    """The best allocation of a budget.

    Attributes
    ----------
    budget
        What was given and what it counts, in words.
    width, depth, tokens, params, flops
        At the best; tokens ``None`` where the law knows none.
    loss
        There, with the interval of the law.
    run
        Interval of a single run there.
    terms
        The loss split.
    closed_form
        Whether the best follows from the closed form; numerically solved otherwise.
    growth
        ``None`` along a ray, and for scales with an offset.
    regret
        Excess of this shape's loss over the best of each sampled law: median, and upper end of the level.
    draws
        (draws, params) the sampled laws.
    ray
        The line that was kept to, in words; ``None`` for a free shape.
    how
        How intervals were found.
    """

    config: PlanConfig
    budget: tuple[str, ...]
    width: Range
    depth: Range
    tokens: Range | None
    params: float
    flops: float | None
    loss: Range
    run: tuple[float, float]
    terms: Mapping[str, float]
    closed_form: bool
    growth: Growth | None
    flat: tuple[Flat, ...]
    regret: tuple[float, float]
    buildable: tuple[Buildable, ...]
    whatif: tuple[WhatIf, ...]
    margins: tuple[Margin, ...]
    curve: Curve | None
    distance: Distance
    draws: Array
    ray: str | None
    level: float
    how: str
    notices: tuple[Notice, ...]

    def in_short(self) -> str:
        """The best allocation, and of which budget."""
        best = [f"{name} {found.value:.4g}" for name, found in self.quantities().items()]
        return f"{'; '.join(self.budget)}; {', '.join(best)}"

    def quantities(self) -> dict[str, Range]:
        """Everything that has an interval, by name."""
        found = {"width": self.width, "depth": self.depth, "loss": self.loss}
        if self.tokens is not None:
            found["tokens"] = self.tokens
        if self.growth is not None:
            found |= {
                "growth_prefactor": self.growth.prefactor,
                "growth_exponent": self.growth.exponent,
                "model_exponent": self.growth.model_exponent,
            }
        return found

    def to_table(self) -> pa.Table:
        """Quantities as a table: name, value, low, high."""
        import pyarrow as pa

        rows = self.quantities()
        return pa.table(
            {
                "name": list(rows),
                "value": [r.value for r in rows.values()],
                "low": [r.low for r in rows.values()],
                "high": [r.high for r in rows.values()],
            }
        )

    def _repr_html_(self) -> str:
        rows = [(name, r.value, (r.low, r.high)) for name, r in self.quantities().items()]
        head = ("", "best", f"{self.level:.0%} interval")
        return result_html("; ".join(self.budget), head, rows, [n.message for n in self.notices])
