"""``fit``: from a table of runs to a law with intervals, or to the reasons why the table cannot tell."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from depthlaw.data.config import replaced
from depthlaw.data.runs import RunTable, read_runs
from depthlaw.errors import FitError
from depthlaw.laws.config import FitConfig
from depthlaw.laws.estimates import Evidence, dropped, estimate, in_order, notices, outliers, quality
from depthlaw.laws.form import BoundForm, Form, bind, scale_of
from depthlaw.laws.identify import gaps_before
from depthlaw.laws.optimum import find_optimum
from depthlaw.laws.result import Certificate, Fit
from depthlaw.laws.uncertainty import groups_of, uncertainty
from depthlaw.laws.unlabelled import shared_offsets
from depthlaw.plurals import counted

__all__ = ["Fit", "FitConfig", "fit"]


def fit(table: RunTable | Any, config: FitConfig | None = None, **settings: Any) -> Fit:
    """Fit a scaling law to a table of training runs.

    Minimises the mean squared residual of ln L over all parameters, from many starts at once; intervals are
    profile likelihoods.

    Parameters
    ----------
    table
        A `RunTable`, or anything `read_runs` takes.
    config
        What to fit; ``None`` for the defaults.
    **settings
        Fields of `FitConfig` that override ``config``.

    Returns
    -------
    Fit
        With a status for every parameter. Parameters that the table cannot determine carry the reason and the
        runs that would determine them; the rest is given all the same.

    Raises
    ------
    FitError
        If there are not more rows than parameters, or no start of the optimiser stays finite.
    UsageError
        If the form does not suit the table.
    """
    config = replaced(FitConfig, config, settings)
    table = table if isinstance(table, RunTable) else read_runs(table)
    form = config.resolve(table.columns, table.source, table.headers)
    table.require(*form.scales, "loss")
    scales = {s: table[s] for s in form.scales}

    gaps = gaps_before(form, scales)
    constant = {gap.scales[0]: gap for gap in gaps if len(np.unique(scales[gap.scales[0]])) == 1}
    bound = bind(_without(form, constant), scales, table["loss"], table.weights, config.loss)
    _require_rows(bound)

    groups = groups_of(table, config)
    first = find_optimum(bound, starts=config.starts, seed=config.seed)
    found = uncertainty(bound, first, gaps, groups, config)
    optimum, near = found.optimum, found.near
    known = Evidence(
        bound=bound,
        optimum=optimum,
        near=near,
        intervals=found.intervals,
        covariance=found.covariance,
        gaps=gaps,
        scales=scales,
    )
    doubts = outliers(table, known)
    if groups.index is None:
        doubts += shared_offsets(table, known)
    estimates = [estimate(name, known) for name in bound.form.param_names]
    for scale, gap in constant.items():
        estimates += dropped(scale, gap)
    params = in_order(form, estimates)
    rows = {**scales, "loss": table["loss"]}
    if table.weights is not None:
        rows["weights"] = table.weights
    if groups.index is not None:
        rows["cluster"] = groups.index.astype(np.float64)
    return Fit(
        form=bound.form,
        params=params,
        point=bound.to_point(optimum.params),
        covariance=bound.to_point_covariance(found.covariance),
        quality=quality(known),
        certificate=Certificate(
            objective=optimum.cost / float(bound.problem.weights.sum()),
            scaled_gradient=optimum.gradient,
            starts=len(optimum.end_costs),
            starts_at_best=optimum.agreement,
            condition=near.spectrum.condition,
            restarts=optimum.restarts,
            converged=optimum.converged and optimum.agreement >= 2,
        ),
        profiles=tuple(i.curve for i in found.profiles.values() if i.curve is not None),
        notices=(*table.notices, *found.notices, *doubts, *notices(known, params)),
        level=config.level,
        errors=found.method,
        objective=config.objective,
        delta=config.delta if config.objective == "huber" else 0.0,
        data=rows,
        source=table.source,
        history=table.history,
    )


def _without(form: Form, constant: Collection[str]) -> Form:
    """The form less the terms whose scale never changes: the floor absorbs them."""
    kept = tuple(s for s in form.scales if s not in constant)
    if len(kept) == len(form.scales):
        return form
    if not kept:
        raise FitError(
            f"not identified: every run has the same {' and '.join(form.scales)}.",
            f"Add runs that differ in {form.scales[0]}.",
        )
    if not form.floor or "floor" in form.fixed:
        listed = " and ".join(s for s in form.scales if s in constant)
        raise FitError(
            f"not identified: every run has the same {listed}, and no free floor takes its term up.",
            "Add runs that differ in it, or leave the floor free.",
        )
    return Form(
        scales=kept,
        floor=form.floor,
        offsets={s: offset for s, offset in form.offsets.items() if s in kept},
        fixed={n: v for n, v in form.fixed.items() if scale_of(n) in (*kept, "floor")},
        tied=tuple(pair for pair in form.tied if all(scale_of(n) in kept for n in pair)),
    )


def _require_rows(bound: BoundForm) -> None:
    needed, n_runs = bound.problem.map.n_free, bound.problem.n_runs
    if n_runs <= needed:
        raise FitError(
            f"not identified: {counted(n_runs, 'run')} cannot determine the {needed} parameters of "
            f"{bound.form}.",
            f"Add runs ({needed + 1} at the very least), or fit fewer terms: --form, --fix, --no-floor.",
        )
