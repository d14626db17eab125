"""``fit``: from a table of runs to a law with intervals, or to the reasons why the table cannot tell."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from depthlaw.data.runs import RunTable, read_runs
from depthlaw.errors import FitError
from depthlaw.laws.config import FitConfig
from depthlaw.laws.estimates import Evidence, dropped, estimate, in_order, notices, quality
from depthlaw.laws.form import BoundForm, Form, bind, scale_of
from depthlaw.laws.identify import gaps_before
from depthlaw.laws.intervals import profile_intervals, rivals
from depthlaw.laws.optimum import curvature, find_optimum, restart
from depthlaw.laws.result import Certificate, Fit

__all__ = ["Fit", "FitConfig", "fit"]

MAX_RESTARTS = 5


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
    config = replace(config or FitConfig(), **settings)
    table = table if isinstance(table, RunTable) else read_runs(table)
    form = config.resolve(table.columns)
    table.require(*form.scales, "loss")
    scales = {s: table[s] for s in form.scales}

    gaps = gaps_before(form, scales)
    constant = {gap.scales[0]: gap for gap in gaps if len(np.unique(scales[gap.scales[0]])) == 1}
    bound = bind(_without(form, constant), scales, table["loss"], table.weights)
    _require_rows(bound)

    optimum = find_optimum(bound, starts=config.starts, seed=config.seed)
    for _ in range(MAX_RESTARTS):
        near = curvature(bound, optimum)
        intervals, better = profile_intervals(bound, optimum, near, gaps, config.level)
        if better is None:
            break
        optimum = restart(bound, optimum, better)
    else:
        raise FitError(
            f"not converged: profiles found a better optimum {MAX_RESTARTS} times in a row.",
            "Use more --starts, or fewer terms.",
        )

    known = Evidence(
        bound=bound,
        optimum=optimum,
        near=near,
        intervals=intervals,
        rivals=rivals(bound, optimum, near, config.level),
        gaps=gaps,
        scales=scales,
    )
    estimates = [estimate(name, known) for name in bound.form.param_names]
    for scale, gap in constant.items():
        estimates += dropped(scale, gap)
    params = in_order(form, estimates)
    rows = {**scales, "loss": table["loss"]}
    return Fit(
        form=bound.form,
        params=params,
        point=bound.to_point(optimum.params),
        covariance=bound.transform @ near.spectrum.covariance @ bound.transform.T,
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
        profiles=tuple(interval.curve for interval in intervals.values()),
        notices=(*table.notices, *notices(known, params)),
        level=config.level,
        data=rows if table.weights is None else {**rows, "weights": table.weights},
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
            f"not identified: {n_runs} runs cannot determine the {needed} parameters of {bound.form}.",
            f"Add runs ({needed + 1} at the very least), or fit fewer terms: --form, --fix, --no-floor.",
        )
