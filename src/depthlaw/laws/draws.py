"""Laws that the data leave possible: refits of resampled runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthlaw.laws.form import BoundForm
from depthlaw.laws.region import Region, region_of
from depthlaw.laws.result import Fit, Status
from depthlaw.laws.support import dials
from depthlaw.numerics.affine import MapBatch
from depthlaw.numerics.terms import Array

OPEN_EXPONENTS = (0.2, 3.0)
"""Range in which an exponent that the data leave open is looked for: what laws of networks have shown."""
TRIALS = 128


@dataclass(frozen=True)
class Draws:
    """A sample of laws.

    Attributes
    ----------
    points
        (draws, params) [ln c₁, α₁, …, floor] each.
    how
        Where they come from, in words.
    """

    points: Array
    how: str


def settled(fit: Fit) -> bool:
    """Whether every parameter of the form that was fitted is known (a dropped term has left the form)."""
    return all(p.status is not Status.NOT_IDENTIFIED for p in fit.params)


def parameter_draws(fit: Fit, count: int, seed: int = 0) -> Draws:
    """Refit ``count`` resamples of the runs, drawn with replacement, all side by side.

    An exponent that the data do not determine is held, in each draw, at one of the values with which the law
    fits the runs as well as chance allows; so the sample shows what is open.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    region = region_of(fit)
    bound = region.bound
    problem, n_runs = bound.problem, fit.n_runs
    weights = rng.multinomial(n_runs, np.full(n_runs, 1.0 / n_runs), size=count) * problem.weights
    start = np.tile(bound.to_internal(fit.point), (count, 1))
    maps = None
    how = f"bootstrap refits over {n_runs} runs"
    held = _open_exponents(fit, bound)
    if held:
        columns = [fit.form.param_names.index(name) for name in held]
        possible = _possible(region, columns, rng)
        start = possible[rng.integers(len(possible), size=count)]
        maps = _holding(bound, columns, start)
        how += f", {' and '.join(held)} held at values from {OPEN_EXPONENTS[0]:g} to {OPEN_EXPONENTS[1]:g}"
    solved = problem.solve(start, weights=weights.astype(float), maps=maps)
    good = np.isfinite(solved.cost)
    return Draws(bound.to_point(solved.params[good]), f"{int(good.sum())} {how}")


def _open_exponents(fit: Fit, bound: BoundForm) -> list[str]:
    """Exponents to hold: those not identified, but only one of two scales on one dial."""
    names = fit.form.param_names
    free = {names[k] for k in bound.problem.map.pick}
    shared = {f"alpha_{dial.one}" for dial in dials(fit)}
    unknown = [p.name for p in fit.params if p.status is Status.NOT_IDENTIFIED and p.name in free]
    return [name for name in unknown if name.startswith("alpha_") and name not in shared]


def _possible(region: Region, columns: list[int], rng: np.random.Generator) -> Array:
    """Parameters (some, params) with the exponents in ``columns`` held, no worse than chance allows."""
    values = np.exp(rng.uniform(*np.log(OPEN_EXPONENTS), (TRIALS, len(columns))))
    optimum = region.params(np.zeros((1, region.root.shape[1])))
    start = np.repeat(optimum, TRIALS, axis=0)
    start[:, columns] = values
    solved = region.bound.problem.solve(start, maps=_holding(region.bound, columns, start))
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
