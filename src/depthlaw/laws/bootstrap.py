"""Bootstrap of a fitted law, over rows or over clusters of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depthlaw.errors import FitError
from depthlaw.laws.form import BoundForm, bind
from depthlaw.laws.result import Fit
from depthlaw.numerics.resampling import draw_counts, leave_out_counts, reach, refit
from depthlaw.numerics.terms import Array


@dataclass(frozen=True)
class Bootstrap:
    """Refits of a law to resampled rows.

    Attributes
    ----------
    points
        (resamples, params) points [ln c₁, α₁, …, floor].
    n_groups
        How many independent groups were drawn from: clusters, or rows.
    n_free
        Free parameters of the law.
    converged
        Share of resamples that met the gradient test.
    rescued
        Resamples that ended better than a start at the optimum alone would have.
    """

    points: Array
    n_groups: int
    n_free: int
    converged: float
    rescued: int

    def interval(self, index: int, level: float) -> tuple[float, float]:
        """Expanded percentile interval of one coordinate of the points.

        A plain percentile interval is too short for few groups; its quantiles are moved outwards as far as
        Student's t reaches beyond the normal (Hesterberg 2015, *What teachers should know about the
        bootstrap*, §4.3), with the groups less the free parameters as degrees of freedom.
        """
        freedom = self.n_groups - self.n_free
        tail = float(special.ndtr(-reach(self.n_groups, freedom, level)))
        low, high = np.quantile(self.points[:, index], [tail, 1.0 - tail])
        return float(low), float(high)


def bootstrap_bound(
    bound: BoundForm,
    optimum: Array,
    groups: NDArray[np.intp],
    *,
    resamples: int,
    seed: int,
    others: Array | None = None,
) -> Bootstrap:
    """Bootstrap a bound law around its optimum (internal parameters).

    Parameters
    ----------
    groups
        (runs,) index of the cluster of each row.
    others
        (points, params) further starting points, see `numerics.resampling.refit`.

    Raises
    ------
    FitError
        If there are not more groups than free parameters.
    """
    n_groups, n_free = int(groups.max()) + 1, bound.problem.map.n_free
    if n_groups <= n_free:
        raise FitError(
            f"{n_groups} independent runs cannot give errors for {n_free} parameters.",
            "Add runs, fit fewer terms, or take every row as independent: --errors rows.",
        )
    draws, choices = np.random.SeedSequence(seed).spawn(2)
    counts = draw_counts(np.random.default_rng(draws), groups, resamples)
    refits = refit(bound.problem, optimum, counts, others=others, rng=np.random.default_rng(choices))
    return Bootstrap(
        points=bound.to_point(refits.params),
        n_groups=n_groups,
        n_free=n_free,
        converged=float(refits.converged.mean()),
        rescued=refits.rescued,
    )


def rebind(fit: Fit) -> tuple[BoundForm, Array]:
    """The problem that a fit solved, and its solution in internal parameters: from a saved fit, too."""
    bound = bind(fit.form, fit.data, fit.data["loss"], fit.data.get("weights"), fit.loss)
    return bound, bound.to_internal(fit.point)


def bootstrap(fit: Fit, *, resamples: int = 1000, seed: int = 0) -> Bootstrap:
    """Bootstrap a fit: over its clusters if it has any, else over its rows.

    Raises
    ------
    FitError
        If there are not more independent groups than free parameters.
    """
    bound, optimum = rebind(fit)
    return bootstrap_bound(bound, optimum, fit.groups, resamples=resamples, seed=seed)


@dataclass(frozen=True)
class Influence:
    """What leaving out one cluster (or row) does to the law.

    Attributes
    ----------
    change
        (groups, params) leave-one-out point less the full one, [ln c₁, α₁, …, floor].
    rows
        (groups,) position of the first row of each group.
    size
        (groups,) rows in each group.
    """

    change: Array
    rows: NDArray[np.intp]
    size: NDArray[np.intp]


def influence(fit: Fit) -> Influence:
    """Refit without each cluster (or row) in turn; exact, not a linear approximation."""
    bound, optimum = rebind(fit)
    refits = refit(bound.problem, optimum, leave_out_counts(fit.groups))
    _, first, size = np.unique(fit.groups, return_index=True, return_counts=True)
    return Influence(bound.to_point(refits.params) - fit.point, first, size)
