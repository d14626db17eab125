"""``plan``: the best width, depth and tokens under a budget, how sure that is, what neighbours cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from depthlaw.data.config import replaced
from depthlaw.errors import FitError, Notice, UsageError
from depthlaw.laws.form import to_coordinate
from depthlaw.laws.result import Fit, require_fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.allocate import Laws, growth, model_exponent
from depthlaw.planning.budget import Budget, budget_of
from depthlaw.planning.buildable import buildable_shapes
from depthlaw.planning.draws import Draws, has_profile, parameter_draws
from depthlaw.planning.flatness import curve_at_equal_cost, flat_ranges, regret
from depthlaw.planning.plan_config import PlanConfig
from depthlaw.planning.planned import Growth, Plan, Range
from depthlaw.planning.predict import predict_points
from depthlaw.planning.refuse import require_terms, shape_refusal
from depthlaw.planning.region import Quantity, profile_range, region_of
from depthlaw.planning.support import Dial, dials
from depthlaw.planning.whatif import Ranger, margins, training_flops, what_if

UNDECIDED = 2.0
"""Ratio of the ends of the best depth's interval above which the data do not decide it."""


def plan(fit: Fit, config: PlanConfig | None = None, **settings: Any) -> Plan:
    """Find the best allocation of a budget under a fitted law.

    Parameters
    ----------
    config
        What to plan; ``None`` for one made of ``settings`` alone.
    **settings
        Fields of `PlanConfig` that override ``config``: ``params=7e9``.

    Raises
    ------
    FitError
        If the fit does not determine how to share parameters between width and depth.
    UsageError
        If the law has no terms for them, or the budget does not suit it.
    """
    require_fit(fit, "plan")
    config = replaced(PlanConfig, config, settings)
    require_terms(fit)
    ray = _ray(fit, config)
    level = fit.level if config.level is None else config.level
    budget = budget_of(config, fit.form, ray)
    draws = parameter_draws(fit, config.resamples, config.seed)
    if config.intervals == "profile" and not has_profile(fit):
        raise UsageError(
            "this fit has no profile likelihood: a parameter is open, runs are clustered, or it is robust.",
            "Use --intervals bootstrap, or auto.",
        )
    profiled = config.intervals == "profile" or (config.intervals == "auto" and has_profile(fit))
    ranged = _profiles(fit, level) if profiled else _quantiles(fit, draws, level)

    laws = Laws(fit.form, fit.point[None])
    best = budget.best(laws)
    width, depth, tokens = float(best.width[0]), float(best.depth[0]), float(budget.tokens_of(best)[0])
    if not np.isfinite([width, depth]).all():
        raise FitError("the best shape is not identified: no finite shape is best under this law.")
    at = {s: x for s, x in (("width", width), ("depth", depth), ("tokens", tokens)) if s in fit.form.scales}
    prediction = predict_points(fit, at, level=level, resamples=draws)
    depths = _scale(ranged, budget, fit, lambda b: b.depth)
    loss = ranged(lambda p: np.log(_loss(fit, budget, p)))
    spread = Range(*(float(np.exp(x)) for x in (loss.value, loss.low, loss.high)))
    free = ray is None
    wanted = config.shapes if free else ()
    sampled = regret(Laws(fit.form, draws.points), budget, at, level)
    made = buildable_shapes(laws, budget, config, width, spread.value) if free and config.show else ()
    return Plan(
        config=config,
        budget=budget.words,
        width=_scale(ranged, budget, fit, lambda b: b.width),
        depth=depths,
        tokens=_tokens(ranged, budget, fit, tokens),
        params=float(config.parameters(best.width, best.depth)[0]),
        flops=training_flops(config, width, depth, tokens),
        loss=spread,
        run=(float(prediction.run_low[0]), float(prediction.run_high[0])),
        terms={name: float(value[0]) for name, value in prediction.terms.items()},
        closed_form=budget.count.pure
        and not fit.form.offsets
        and free
        and depth not in (budget.depths or ()),
        growth=_growth(fit, ranged) if free and not fit.form.offsets else None,
        flat=flat_ranges(laws, budget, depth) if free else (),
        regret=sampled,
        buildable=made,
        whatif=tuple(what_if(fit.form, fit.point, budget, config, s, ranged) for s in wanted),
        margins=margins(fit.form, at, config, ranged) if free else (),
        curve=curve_at_equal_cost(laws, Laws(fit.form, draws.points), budget, depth, level) if free else None,
        distance=prediction.distance,
        draws=draws.points,
        ray=None if ray is None else str(ray),
        level=level,
        how="profile likelihood" if profiled else f"quantiles of {draws.how}",
        notices=(*prediction.notices, *_doubts(depths, sampled, config, free)),
    )


def best_under(fit: Fit, config: PlanConfig, values: Mapping[str, float]) -> dict[str, float]:
    """The best width, depth (and tokens) under another law of the same form, given in natural units."""
    names = fit.form.param_names
    point = np.array([to_coordinate(name, values.get(name, 0.0)) for name in names])
    laws = Laws(fit.form, point[None])
    budget = budget_of(config, fit.form, None)
    best = budget.best(laws)
    tokens = float(budget.tokens_of(best)[0])
    found = {"width": float(best.width[0]), "depth": float(best.depth[0])}
    if np.isfinite(tokens):
        found["tokens"] = tokens
    return {**found, "loss": float(budget.loss(laws, best)[0])}


def _ray(fit: Fit, config: PlanConfig) -> Dial | None:
    """The line to keep to, if one is asked for; refuses a free shape that the data do not determine."""
    found = [dial for dial in dials(fit) if {dial.one, dial.other} == {"width", "depth"}]
    if config.ray:
        if not found:
            raise FitError(
                "--ray keeps to the line along which width and depth grow together, but they do not here.",
                "Leave it out.",
            )
        return found[0]
    why = shape_refusal(fit)
    if why is not None:
        hint = f"Along the line of the data, {found[0]}, planning works: --ray." if found else None
        raise FitError(f"the best shape is not identified: {why}.", hint)
    return None


def _profiles(fit: Fit, level: float) -> Ranger:
    region = region_of(fit, level)

    def ranged(quantity: Quantity) -> Range:
        return Range(float(quantity(fit.point[None])[0]), *profile_range(region, quantity))

    return ranged


def _quantiles(fit: Fit, draws: Draws, level: float) -> Ranger:
    def ranged(quantity: Quantity) -> Range:
        return Range(float(quantity(fit.point[None])[0]), *draws.interval(quantity(draws.points), level))

    return ranged


def _scale(ranged: Ranger, budget: Budget, fit: Fit, of: Callable[[Any], Array]) -> Range:
    """Interval of a scale of the best allocation, found in its log."""
    found = ranged(lambda points: np.log(of(budget.best(Laws(fit.form, points)))))
    value = of(budget.best(Laws(fit.form, fit.point[None])))[
        0
    ]  # not through a log: edges of ranges stay exact
    return Range(float(value), float(np.exp(found.low)), float(np.exp(found.high)))


def _tokens(ranged: Ranger, budget: Budget, fit: Fit, tokens: float) -> Range | None:
    if not np.isfinite(tokens):
        return None
    if not budget.shared:
        return Range(tokens, tokens, tokens)
    return _scale(ranged, budget, fit, lambda b: b.tokens)


def _loss(fit: Fit, budget: Budget, points: Array) -> Array:
    laws = Laws(fit.form, points)
    return budget.loss(laws, budget.best(laws))


def _growth(fit: Fit, ranged: Ranger) -> Growth:
    log_factor = ranged(lambda p: np.log(growth(Laws(fit.form, p))[0]))
    return Growth(
        prefactor=Range(*(float(np.exp(x)) for x in (log_factor.value, log_factor.low, log_factor.high))),
        exponent=ranged(lambda p: growth(Laws(fit.form, p))[1]),
        model_exponent=ranged(lambda p: model_exponent(Laws(fit.form, p))),
    )


def _doubts(depth: Range, sampled: tuple[float, float], config: PlanConfig, free: bool) -> tuple[Notice, ...]:
    found = []
    if free and not depth.high <= UNDECIDED * depth.low:
        message = (
            f"the data do not decide the depth: {depth.low:.3g} to {depth.high:.3g} are all compatible; "
            f"wherever it lies, the shape given here is within {sampled[1]:.2%} of the best loss"
        )
        found.append(Notice("interval-does-not-decide", message))
    if config.depth_range is not None and depth.value in config.depth_range:
        found.append(
            Notice("depth-at-edge", f"the best depth is at the edge of --depth-range: {depth.value:g}")
        )
    return tuple(found)
