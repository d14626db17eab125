"""Laws that the data leave possible: refits of resampled runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from depthlaw.laws.bootstrap import bootstrap_bound
from depthlaw.laws.form import BoundForm
from depthlaw.laws.result import Fit, Status
from depthlaw.numerics.affine import MapBatch
from depthlaw.numerics.resampling import draw_counts, reach
from depthlaw.numerics.terms import Array
from depthlaw.planning.region import Region, region_of
from depthlaw.planning.support import dials

OPEN_EXPONENTS = (0.2, 3.0)
"""Range in which an exponent that the data leave open is looked for: what laws of networks have shown."""
TRIALS = 64
MOST_ITERATIONS = 60
"""Of refits with an exponent held: some creep along flat directions, where any point will do."""


@dataclass(frozen=True)
class Draws:
    """A sample of laws.

    Attributes
    ----------
    points
        (draws, params) [ln c₁, α₁, …, floor] each.
    how
        Where they come from, in words.
    groups, free
        Independent groups of runs that were drawn from, and free parameters of the law.
    """

    points: Array
    how: str
    groups: int
    free: int

    def interval(self, values: Array, level: float) -> tuple[float, float]:
        """Expanded percentile interval of a quantity (draws,) of the drawn laws.

        Infinite values stay; NaN, where a law has no such quantity, are left out. See
        `depthlaw.laws.bootstrap.Bootstrap.interval` for the expansion.
        """
        known = values[~np.isnan(values)]
        if not len(known):
            return float("nan"), float("nan")
        freedom = max(self.groups - self.free, 1)
        tail = float(special.ndtr(-reach(self.groups, freedom, level)))
        method = "linear" if np.isfinite(known).all() else "inverted_cdf"
        low, high = np.quantile(known, [tail, 1.0 - tail], method=method)  # type: ignore[call-overload]
        return float(low), float(high)


def settled(fit: Fit) -> bool:
    """Whether every parameter of the form that was fitted is known (a dropped term has left the form)."""
    return all(p.status is not Status.NOT_IDENTIFIED for p in fit.params)


def has_profile(fit: Fit) -> bool:
    """Whether the profile likelihood gives intervals: all parameters known, rows independent, squares."""
    return settled(fit) and fit.objective == "mse" and "cluster" not in fit.data


def parameter_draws(fit: Fit, count: int, seed: int = 0) -> Draws:
    """Refit ``count`` resamples of the runs (or clusters of them), drawn with replacement, side by side.

    An exponent that the data do not determine is held, in each draw, at one of the values with which the law
    fits the runs as well as chance allows; so the sample shows what is open.
    """
    region = region_of(fit)
    bound, problem = region.bound, region.bound.problem
    groups = fit.groups
    n_groups = int(groups.max()) + 1
    if n_groups <= problem.map.n_free + 1:  # as the fit itself does, and says
        groups = np.arange(fit.n_runs)
        n_groups = fit.n_runs
    whom = f"{n_groups} {'runs' if n_groups == fit.n_runs else 'clusters'}"
    held = _open_exponents(fit, bound)
    if not held:
        sample = bootstrap_bound(bound, bound.to_internal(fit.point), groups, resamples=count, seed=seed)
        points = sample.points[np.isfinite(sample.points).all(1)]
        return Draws(points, f"{len(points)} bootstrap refits over {whom}", n_groups, problem.map.n_free)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    columns = [fit.form.param_names.index(name) for name in held]
    possible = _possible(region, columns, rng)
    start = possible[rng.integers(len(possible), size=count)]
    weights = draw_counts(rng, groups, count) * problem.weights
    solved = problem.solve(
        start, weights=weights, maps=_holding(bound, columns, start), max_iterations=MOST_ITERATIONS
    )
    good = np.isfinite(solved.cost)
    how = f"{int(good.sum())} bootstrap refits over {whom}, {' and '.join(held)} held at values from "
    how += f"{OPEN_EXPONENTS[0]:g} to {OPEN_EXPONENTS[1]:g}"
    return Draws(bound.to_point(solved.params[good]), how, n_groups, problem.map.n_free)


def _open_exponents(fit: Fit, bound: BoundForm) -> list[str]:
    """Exponents to hold: those not identified, but only one of two scales on one dial."""
    names = fit.form.param_names
    free = {names[k] for k in bound.problem.map.pick}
    shared = {f"alpha_{dial.one}" for dial in dials(fit)}
    unknown = [p.name for p in fit.params if p.status is Status.NOT_IDENTIFIED and p.name in free]
    return [name for name in unknown if name.startswith("alpha_") and name not in shared]


def _possible(region: Region, columns: list[int], rng: np.random.Generator) -> Array:
    """Parameters (some, params) with the exponents in ``columns`` held, no worse than chance allows."""
    low, high = (float(np.log(end)) for end in OPEN_EXPONENTS)
    values = np.exp(rng.uniform(low, high, (TRIALS, len(columns))))
    optimum = region.params(np.zeros((1, region.root.shape[1])))
    start = np.repeat(optimum, TRIALS, axis=0)
    start[:, columns] = values
    solved = region.bound.problem.solve(
        start, maps=_holding(region.bound, columns, start), max_iterations=MOST_ITERATIONS
    )
    cut = region.cost + region.threshold**2 * region.unit
    good = solved.cost <= cut
    return solved.params[good] if good.any() else optimum


def _holding(bound: BoundForm, columns: list[int], params: Array) -> MapBatch:
    """Constraint maps that hold ``columns`` at their values in each row of ``params``."""
    maps = []
    for row in params:
        one = bound.problem.map
        for column in columns:
            functional = np.zeros(len(row))
            functional[column] = 1.0
            one = one.eliminate(functional, float(row[column]), column)
        maps.append(one)
    return MapBatch.stack(maps)
