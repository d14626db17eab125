"""``design``: which runs to train next, so that a quantity of the law becomes best known for the compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from depthlaw.data.config import replaced
from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import FitError, Notice, UsageError, unknown_name
from depthlaw.laws.result import Fit, Status, require_fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.allocate import Laws, best_shape, best_under_compute
from depthlaw.planning.choose import Candidates, choose
from depthlaw.planning.counting import NOMINAL, TRAINING_PASSES
from depthlaw.planning.design_config import DesignConfig
from depthlaw.planning.draws import Draws, has_profile, parameter_draws, settled
from depthlaw.planning.grid import candidate_grid, plain_grid
from depthlaw.planning.information import Information, information
from depthlaw.planning.planned import Range
from depthlaw.planning.refuse import require_terms
from depthlaw.planning.region import profile_range, region_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Run:
    """A run to train.

    Attributes
    ----------
    flops
        Its cost, 6 N D with N = 12 m²ℓ.
    loss
        Predicted.
    without
        By what factor the expected interval would be wider without it.
    """

    width: float
    depth: float
    tokens: float
    params: float
    flops: float
    loss: float
    without: float


@dataclass(frozen=True, eq=False, repr=False)
class Design(Shown):
    """Runs to train next, and what they are expected to give.

    Attributes
    ----------
    goal
        What becomes known, in words.
    runs
        What to train, cheapest first.
    value
        The quantity now; ``None`` for all parameters together, and where the runs leave parameters open.
    now
        Its interval from the runs at hand (profile likelihood).
    expected_now, expected_after, expected_grid
        Expected width of the interval, the median over the sampled laws: with the runs at hand, with the
        design, with a plain grid of equal cost (three widths × three depths on the same tokens). A width is
        high − low for a parameter, ln(high/low) for a depth, and for all parameters the geometric mean.
    after
        The interval expected afterwards, if the estimate stays.
    spread
        Quantiles (5, 95 %) of the width afterwards over the laws.
    grid
        The plain grid: width, depth, tokens (runs,) each.
    """

    config: DesignConfig
    goal: str
    runs: tuple[Run, ...]
    value: float | None
    now: Range | None
    after: Range | None
    expected_now: float
    expected_after: float
    expected_grid: float
    spread: tuple[float, float]
    flops: float
    candidates: Mapping[str, Array]
    grid: Mapping[str, Array]
    level: float
    how: str
    notices: tuple[Notice, ...]

    def to_table(self) -> pa.Table:
        """The runs as a table."""
        import pyarrow as pa

        return pa.table({name: [getattr(r, name) for r in self.runs] for name in Run.__dataclass_fields__})

    def _repr_html_(self) -> str:
        names = ("width", "depth", "tokens", "flops")
        rows = [[getattr(run, name) for name in names] for run in self.runs]
        return result_html(f"runs to know {self.goal}", names, rows, [n.message for n in self.notices])


def design(fit: Fit, config: DesignConfig | None = None, **settings: Any) -> Design:
    """Choose the runs to train next.

    Parameters
    ----------
    config
        What to choose for; ``None`` for one made of ``settings`` alone.
    **settings
        Fields of `DesignConfig` that override ``config``.

    Raises
    ------
    UsageError
        If no candidate fits the budget, or the law lacks what the goal needs.
    FitError
        If a term was dropped for want of variation: train two other values of its scale first.
    """
    require_fit(fit, "design")
    config = replaced(DesignConfig, config, settings)
    for estimate in fit.params:
        if estimate.status is Status.DROPPED:
            term = estimate.name.partition("_")[2] or estimate.name
            raise FitError(f"no run can be weighed for the {term} term: {estimate.reason}.")
    level = fit.level if config.level is None else config.level
    draws = parameter_draws(fit, config.resamples, config.seed)
    known = information(fit, draws)
    quantity, words = goal_of(fit, config)
    goal = None if quantity is None else known.gradient(quantity)
    if goal is not None:
        keep = np.isfinite(goal).all(1) & (np.abs(goal).max(1) > 0)
        if not keep.any():
            raise FitError(f"{words} does not depend on the law here: nothing to learn.")
        goal = goal[keep]
        known = replace(known, points=known.points[keep], now=known.now[keep])
    options = candidate_grid(fit, config)
    cost = flops_of(options)
    chosen = list(
        choose(
            known.now, Candidates(known.rows(options), cost, config.repeats), goal, config.budget, config.most
        )
    )
    if not chosen:
        raise UsageError(
            f"no run of the grid costs {config.budget:.3g} FLOP or less; the cheapest is {cost.min():.3g}.",
            "Raise --budget, or give smaller --widths, --depths or --tokens-grid.",
        )
    chosen.sort(key=lambda k: float(cost[k]))
    grid = plain_grid(fit, config)
    after_grid = float(np.median(expected_widths(known, goal, grid, level)))
    laws = Laws(fit.form, fit.point[None] if settled(fit) else draws.points)
    widths = expected_widths(known, goal, _take(options, chosen), level)
    mean = float(np.median(widths))
    value, now, after = _intervals(fit, config, draws, level, mean)
    runs = tuple(
        Run(
            width=float(options["width"][k]) if "width" in options else np.nan,
            depth=float(options["depth"][k]) if "depth" in options else np.nan,
            tokens=float(options["tokens"][k]) if "tokens" in options else np.nan,
            params=float(cost[k] / TRAINING_PASSES / options["tokens"][k]) if "tokens" in options else np.nan,
            flops=float(cost[k]),
            loss=float(np.median(laws.loss(**{s: float(x[k]) for s, x in options.items()}))),
            without=float(
                np.median(expected_widths(known, goal, _take(options, chosen[:i] + chosen[i + 1 :]), level))
                / mean
            ),
        )
        for i, k in enumerate(chosen)
    )
    low, high = np.quantile(widths, [0.05, 0.95])
    return Design(
        config=config,
        goal=words,
        runs=runs,
        value=value,
        now=now,
        after=after,
        expected_now=float(np.median(expected_widths(known, goal, _take(options, []), level))),
        expected_after=mean,
        expected_grid=after_grid,
        spread=(float(low), float(high)),
        flops=float(cost[chosen].sum()),
        candidates=options,
        grid=grid,
        level=level,
        how=f"information of the runs, averaged over {draws.how}",
        notices=(*_doubts(known, fit), *(_far_grid(options, grid) if after_grid < mean else ())),
    )


def goal_of(fit: Fit, config: DesignConfig) -> tuple[Callable[[Array], Array] | None, str]:
    """The quantity that shall become known, of points (laws, params), and its name; ``None`` for all.

    Raises
    ------
    UsageError
        For a name that is neither a parameter of the form nor a goal.
    """
    names = fit.form.param_names
    if config.goal == "all":
        return None, "all parameters together (D-optimal)"
    if config.goal == "best-depth":
        require_terms(fit)
        if config.params is not None:
            total = config.params
            return (
                lambda p: np.log(best_shape(Laws(fit.form, p), NOMINAL, total).depth),
                f"the best depth at {total:.4g} parameters (12 m²ℓ)",
            )
        compute = float(config.flops or 0.0)
        per_token = NOMINAL.times(TRAINING_PASSES, "6 N D")
        return (
            lambda p: np.log(best_under_compute(Laws(fit.form, p), per_token, compute).depth),
            f"the best depth at {compute:.4g} FLOP (6 N D, 12 m²ℓ)",
        )
    if config.goal not in names:
        raise unknown_name("goal", config.goal, [*names, "best-depth", "all"], flag="--goal")
    index = names.index(config.goal)
    # Coefficients enter a point as logs: their width is ln(high/low).
    return lambda p: p[:, index], config.goal


def expected_widths(known: Information, goal: Array | None, runs: Mapping[str, Array], level: float) -> Array:
    """Expected width of the interval around each law (laws,), with further runs."""
    count = len(next(iter(runs.values())))
    rows = known.rows(runs) if count else np.empty((len(known.points), 0, known.free))
    whole = known.now + np.einsum("bki,bkj->bij", rows, rows)
    t = float(special.stdtrit(max(known.runs + count - known.free, 1), 0.5 + level / 2))
    if goal is None:
        variance = np.exp(np.log(np.diagonal(np.linalg.inv(whole), axis1=1, axis2=2)).mean(1))
    else:
        variance = np.einsum("bi,bi->b", goal, np.linalg.solve(whole, goal[:, :, None])[:, :, 0])
    return np.asarray(2 * t * np.sqrt(variance))


def flops_of(runs: Mapping[str, Array]) -> Array:
    """Training FLOP (runs,): 6 N D with N = 12 m²ℓ, or the table's own scales where it has no shape."""
    if "flops" in runs:
        return np.asarray(runs["flops"], float)
    size = runs["params"] if "params" in runs else NOMINAL(runs["width"], runs["depth"])
    return np.asarray(TRAINING_PASSES * size * runs["tokens"])


def _take(scales: Mapping[str, Array], index: list[int]) -> dict[str, Array]:
    return {name: values[index] for name, values in scales.items()}


def _intervals(
    fit: Fit, config: DesignConfig, draws: Draws, level: float, width: float
) -> tuple[float | None, Range | None, Range | None]:
    quantity, _ = goal_of(fit, config)
    if quantity is None or not settled(fit):
        return None, None, None
    value = float(quantity(fit.point[None])[0])
    if has_profile(fit):
        low, high = profile_range(region_of(fit, level), quantity)
    else:
        low, high = draws.interval(quantity(draws.points), level)
    logs = config.goal == "best-depth" or config.goal.startswith("c_")
    ends = [value, low, high, value - width / 2, value + width / 2]
    ends = [float(np.exp(x)) if logs else float(x) for x in ends]
    return ends[0], Range(*ends[:3]), Range(ends[0], *ends[3:])


def _far_grid(options: Mapping[str, Array], grid: Mapping[str, Array]) -> tuple[Notice, ...]:
    """Say why a grid of equal cost does better: its runs are so short that only the form speaks for them."""
    if "tokens" not in options or grid["tokens"][0] >= options["tokens"].min():
        return ()
    message = (
        f"the plain grid of equal cost has {grid['tokens'][0]:.3g} tokens a run, fewer than any run "
        f"considered here ({options['tokens'].min():.3g}): its width trusts the law's form out there"
    )
    return (Notice("grid-outside-data", message),)


def _doubts(known: Information, fit: Fit) -> tuple[Notice, ...]:
    trust = Notice(
        "design-trusts-the-form",
        "the choice trusts the form of the law up to the corners of the grid; runs in between would show "
        "whether it holds there",
    )
    if not known.prior:
        return (trust,)
    names = ", ".join(p.name for p in fit.params if p.status is Status.NOT_IDENTIFIED)
    message = (
        f"the runs at hand leave {names} open: widths are around the laws that remain possible, with a weak "
        "prior (exponents ± 2); refit after the runs"
    )
    return (Notice("not-identified", message), trust)
