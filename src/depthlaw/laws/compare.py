"""Which form do the data prefer? Information criteria, and losses that the fit has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.bounds import check_counts
from depthlaw.data.columns import QUANTITIES
from depthlaw.data.config import own_first, replaced
from depthlaw.data.runs import RunTable, read_runs
from depthlaw.errors import DepthlawError, FitError, Notice, unknown_name
from depthlaw.laws.candidates import (
    NOMINAL,
    Candidate,
    default_candidates,
    largest_shapes,
    with_nominal_params,
)
from depthlaw.laws.comparison import Comparison, Contender, sentence
from depthlaw.laws.config import FitConfig
from depthlaw.laws.form import BoundForm, bind
from depthlaw.laws.identify import Gap, gaps_before
from depthlaw.laws.optimum import EXACT, Optimum, curvature, find_optimum
from depthlaw.laws.uncertainty import Groups, groups_of
from depthlaw.numerics.resampling import refit
from depthlaw.numerics.terms import Array

SPLITS, HELD_OUT = 10, 0.2


@own_first
@dataclass(frozen=True)
class CompareConfig(FitConfig):
    """How to compare forms.

    Attributes
    ----------
    forms
        Forms to compare; none compares the form itself, less each term, with depth - 2, and the plain law.
    splits
        Random splits into 80 % to fit and 20 % to predict; whole runs are held out where rows are
        checkpoints.
    """

    forms: tuple[str, ...] = ()
    splits: int = SPLITS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, 1, "splits")


def compare(table: RunTable | Any, config: CompareConfig | None = None, **settings: Any) -> Comparison:
    """Fit several forms to one table and hold them side by side.

    Parameters
    ----------
    table
        A `RunTable`, or anything `read_runs` takes.
    config, **settings
        See `CompareConfig`.

    Raises
    ------
    UsageError
        If a form does not suit the table.
    FitError
        If not one form can be fitted.
    """
    config = replaced(CompareConfig, config, settings)
    table = table if isinstance(table, RunTable) else read_runs(table)
    table.require("loss")
    columns = with_nominal_params({name: table[name] for name in table.columns if name != "loss"})
    columns = {name: values for name, values in columns.items() if np.all(values > 0)}
    asked = config.resolve(table.columns, table.source, table.headers)
    if config.forms:
        forms = [replace(config, form=text).resolve(columns) for text in config.forms]
        for scale in (scale for form in forms for scale in form.scales):
            if scale not in (*QUANTITIES, NOMINAL):
                raise unknown_name("scale", scale, columns)
        candidates: Sequence[Candidate] = [Candidate(str(form), form) for form in forms]
    else:
        table.require(*asked.scales)
        candidates = default_candidates(asked, columns)
    groups = groups_of(table, config)
    contenders = [_contest(candidate, columns, table, groups, config) for candidate in candidates]
    fitted = sorted((c for c in contenders if not c.problem), key=lambda c: c.aicc)
    if not fitted:
        raise FitError(f"no form could be fitted: {contenders[0].problem}")
    ranked = (*fitted, *(c for c in contenders if c.problem))
    n_groups = groups.count or table.n_runs
    notices = [*table.notices, *_gaps(fitted, columns)]
    if groups.index is not None:
        message = (
            f"criteria count {table.n_runs} rows as independent, but they are checkpoints of {n_groups} "
            "runs: trust the held-out columns, which leave out whole runs."
        )
        notices.append(Notice("clustered-criteria", message))
    return Comparison(
        contenders=ranked,
        asked=candidates[0].name,
        n_runs=table.n_runs,
        n_groups=n_groups,
        sentence=sentence(ranked, candidates[0].name),
        notices=tuple(notices),
        source=table.source,
        history=table.history,
    )


def _gaps(fitted: Sequence[Contender], columns: Mapping[str, Array]) -> list[Notice]:
    """What the table leaves open in the forms compared: a form may predict well and have no exponent."""
    gaps: dict[tuple[object, ...], Gap] = {}
    for contender in fitted:
        for gap in gaps_before(contender.form, {s: columns[s] for s in contender.form.scales}):
            gaps.setdefault((gap.scales, gap.reason), gap)
    return [
        Notice(
            "not-identified",
            f"{' and '.join(gap.scales)}: {gap.reason}; whichever form is preferred, no exponent there is "
            f"identified: {gap.remedy}.",
        )
        for gap in gaps.values()
    ]


def _contest(
    candidate: Candidate, columns: Mapping[str, Array], table: RunTable, groups: Groups, config: CompareConfig
) -> Contender:
    form = candidate.form
    try:
        missing = [s for s in form.scales if s not in columns]
        if missing:
            raise FitError(f"the table has no usable {missing[0]}")
        constant = [s for s in form.scales if len(np.unique(columns[s])) == 1]
        if constant:
            raise FitError(f"{constant[0]} never changes")
        bound = bind(form, columns, table["loss"], table.weights, config.loss)
        if bound.problem.n_runs <= bound.problem.map.n_free + 1:
            raise FitError(f"{bound.problem.n_runs} runs are too few")
        optimum = find_optimum(bound, starts=config.starts, seed=config.seed)
    except DepthlawError as error:
        return Contender(candidate.name, form, problem=error.message)
    residual = bound.problem.residuals(optimum.params[None])[0][0]
    weights = bound.problem.weights / bound.problem.weights.sum()
    mse = float(weights @ residual**2)
    n_runs, n_free = bound.problem.n_runs, curvature(bound, optimum).n_free
    deviance = n_runs * float(np.log(max(mse, EXACT**2)))  # exact laws are level, whatever their rounding
    held_out, spread = _held_out(bound, optimum, groups, config)
    extrapolated = _extrapolation(bound, optimum, {s: columns[s] for s in form.scales} | dict(columns))
    return Contender(
        name=candidate.name,
        form=form,
        n_params=n_free,
        mse=mse,
        aic=deviance + 2 * n_free,
        aicc=deviance + 2 * n_free + 2 * n_free * (n_free + 1) / (n_runs - n_free - 1),
        bic=deviance + n_free * float(np.log(n_runs)),
        held_out=held_out,
        held_out_spread=spread,
        extrapolated=float(np.sqrt(np.mean(extrapolated**2))),
        extrapolated_bias=float(np.mean(extrapolated)),
        by_group={s: _thirds(columns[s], residual) for s in ("width", "depth", "tokens") if s in columns},
    )


def _held_out(
    bound: BoundForm, optimum: Optimum, groups: Groups, config: CompareConfig
) -> tuple[float, float]:
    """Root mean squared log residual of held-out rows: mean and spread over random splits."""
    index = np.arange(bound.problem.n_runs) if groups.index is None else groups.index
    n_groups = int(index.max()) + 1
    rng = np.random.default_rng(np.random.SeedSequence(config.seed))
    out = np.stack([rng.permutation(n_groups) < HELD_OUT * n_groups for _ in range(config.splits)])[:, index]
    if not out.any(1).all():
        return np.nan, np.nan
    fits = refit(bound.problem, optimum.params, (~out).astype(float))
    residual = bound.problem.residuals(fits.params)[0]
    errors = np.sqrt(np.sum(residual**2 * out, 1) / out.sum(1))
    return float(errors.mean()), float(errors.std(ddof=1)) if len(errors) > 1 else np.nan


def _extrapolation(bound: BoundForm, optimum: Optimum, scales: Mapping[str, Array]) -> Array:
    """Log residuals of the largest shapes under a fit to all others."""
    out = largest_shapes(scales).astype(bool)
    fits = refit(bound.problem, optimum.params, (~out).astype(float)[None])
    residual: Array = bound.problem.residuals(fits.params)[0][0][out]
    return residual


def _thirds(scale: Array, residual: Array) -> tuple[float, float, float]:
    """Mean log residual in the lower, middle and upper third of a scale."""
    edges = np.quantile(scale, [1 / 3, 2 / 3])
    group: NDArray[np.intp] = np.digitize(scale, edges, right=True)
    means = [float(residual[group == g].mean()) if (group == g).any() else np.nan for g in range(3)]
    return means[0], means[1], means[2]
