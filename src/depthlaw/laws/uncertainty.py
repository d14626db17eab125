"""Which errors and intervals a fit reports: profile or bootstrap, of rows or of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.runs import RunTable
from depthlaw.errors import FitError, Notice, UsageError
from depthlaw.laws.bootstrap import bootstrap_bound
from depthlaw.laws.config import FitConfig
from depthlaw.laws.form import BoundForm
from depthlaw.laws.identify import Gap
from depthlaw.laws.intervals import Interval, bootstrap_intervals, profile_intervals
from depthlaw.laws.optimum import Curvature, Optimum, curvature, restart
from depthlaw.laws.sandwich import sandwich
from depthlaw.laws.unlabelled import shapes_of
from depthlaw.numerics.terms import Array

MAX_RESTARTS = 5


@dataclass(frozen=True)
class Groups:
    """What counts as independent.

    Attributes
    ----------
    index
        (runs,) cluster of each row; ``None`` when every row stands for itself.
    label
        Header of the cluster column, for messages; empty where clusters are shapes.
    """

    index: NDArray[np.intp] | None = None
    label: str = ""

    @property
    def count(self) -> int:
        """Number of clusters."""
        return 0 if self.index is None else int(self.index.max()) + 1

    @property
    def words(self) -> str:
        """What is independent: ``"25 runs (run_id)"``, ``"12 shapes"``, ``"rows"``."""
        if self.index is None:
            return "rows"
        return f"{self.count} {f'runs ({self.label})' if self.label else 'shapes'}"


def groups_of(table: RunTable, config: FitConfig) -> Groups:
    """Find the clusters that a fit of ``table`` must respect.

    Raises
    ------
    UsageError
        If clusters are asked for and the table has none.
    """
    if config.errors == "shapes":
        return Groups(shapes_of(table))
    if config.errors == "rows" or table.clusters is None:
        if config.errors == "clusters":
            raise UsageError("the table has no cluster column.", "Name it: --cluster COLUMN.")
        return Groups()
    index = np.unique(table.clusters, return_inverse=True)[1].astype(np.intp)
    return Groups(index, (table.cluster_source or "cluster").partition(" (")[0])


@dataclass(frozen=True)
class Uncertainty:
    """Errors and intervals around an optimum that no profile could improve.

    Attributes
    ----------
    covariance
        (params, params) of the internal parameters.
    profiles
        Profile intervals with their curves: what the rows say if they are independent.
    intervals
        What is reported.
    method
        How errors and intervals were found, in words.
    """

    optimum: Optimum
    near: Curvature
    covariance: Array
    profiles: Mapping[str, Interval]
    intervals: Mapping[str, Interval]
    method: str
    notices: tuple[Notice, ...] = ()


def uncertainty(
    bound: BoundForm, optimum: Optimum, gaps: Sequence[Gap], groups: Groups, config: FitConfig
) -> Uncertainty:
    """Work out errors and intervals.

    Raises
    ------
    FitError
        If profiles keep finding better optima.
    """
    if config.objective == "huber":  # no likelihood, so no profile; identifiability shows in the bootstrap
        near = curvature(bound, optimum)
        profiles: Mapping[str, Interval] = {}
    else:
        optimum, near, profiles = _profiled(bound, optimum, gaps, config.level)
    plain = Uncertainty(
        optimum=optimum,
        near=near,
        covariance=near.spectrum.covariance,
        profiles=profiles,
        intervals=profiles,
        method="standard errors from s²(JᵀJ)⁻¹, profile likelihood intervals",
    )
    if near.exact:
        return replace(plain, method="none: residuals are rounding")
    robust = config.objective == "huber" or groups.index is not None
    wanted = "bootstrap" if config.intervals == "auto" and robust else config.intervals
    if wanted != "bootstrap" and not robust:
        return plain
    if groups.index is not None and groups.count <= near.n_free + 1:
        message = (
            f"only {groups.words} for {near.n_free} parameters: errors are "
            "those of independent rows, and too small."
        )
        return replace(plain, notices=(Notice("few-clusters", message),))
    index = np.arange(bound.problem.n_runs) if groups.index is None else groups.index
    covariance, method = plain.covariance, "standard errors from s²(JᵀJ)⁻¹"
    if robust:
        covariance = sandwich(bound, optimum.params, near.pinned, index)
        method = f"sandwich standard errors over {groups.words}"
    if wanted != "bootstrap":
        return replace(
            plain, covariance=covariance, method=f"{method}, profile intervals as if rows were independent"
        )
    sample = bootstrap_bound(
        bound,
        optimum.params,
        index,
        resamples=config.resamples,
        seed=config.seed,
        others=distinct_starts(bound, optimum, near),
    )
    return replace(
        plain,
        covariance=covariance,
        intervals=bootstrap_intervals(bound, sample, config.level),
        method=f"{method}, bootstrap intervals over {groups.words} ({config.resamples} resamples)",
    )


def _profiled(
    bound: BoundForm, optimum: Optimum, gaps: Sequence[Gap], level: float
) -> tuple[Optimum, Curvature, Mapping[str, Interval]]:
    """Profile intervals, restarting the fit whenever a profile finds a better optimum."""
    for _ in range(MAX_RESTARTS):
        near = curvature(bound, optimum)
        intervals, better = profile_intervals(bound, optimum, near, gaps, level)
        if better is None:
            return optimum, near, intervals
        optimum = restart(bound, optimum, better)
    raise FitError(
        f"not converged: profiles found a better optimum {MAX_RESTARTS} times in a row.",
        "Use more --starts, or fewer terms.",
    )


def distinct_starts(bound: BoundForm, optimum: Optimum, near: Curvature) -> Array:
    """Further starts for resamples: points around the optimum, two standard errors away along each axis of
    the covariance, and wherever else starts of the fit ended.
    """
    values, axes = np.linalg.eigh(near.spectrum.covariance)
    reach = 2.0 * np.sqrt(np.maximum(values, 0.0)) * axes  # (params, axes)
    around = np.concatenate([optimum.params + reach.T, optimum.params - reach.T])
    elsewhere = optimum.ends[optimum.end_costs > optimum.cost * (1 + 1e-6)][:8]
    points = np.concatenate([around[np.tile(values > 0, 2)], elsewhere])
    within: Array = np.clip(points, bound.problem.lower, bound.problem.upper)
    return within
