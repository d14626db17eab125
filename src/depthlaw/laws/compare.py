"""Which form do the data prefer? Information criteria, and losses that the fit has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal  # noqa: F401 - the flags of FitConfig are resolved here

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.bounds import check_counts
from depthlaw.data.config import replaced
from depthlaw.data.html import result_html
from depthlaw.data.runs import RunTable, read_runs
from depthlaw.errors import DepthlawError, FitError, Notice, unknown_name
from depthlaw.laws.candidates import Candidate, default_candidates, largest_shapes, with_nominal_params
from depthlaw.laws.config import FitConfig
from depthlaw.laws.form import BoundForm, Form, bind
from depthlaw.laws.optimum import EXACT, Optimum, curvature, find_optimum
from depthlaw.laws.uncertainty import Groups, groups_of
from depthlaw.numerics.resampling import refit
from depthlaw.numerics.terms import Array

if TYPE_CHECKING:
    import pyarrow as pa

TIE = 2.0
"""Difference in AICc below which two forms are level (Burnham and Anderson 2002, §2.6)."""
SPLITS, HELD_OUT = 10, 0.2


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


@dataclass(frozen=True)
class Contender:
    """How one form fared.

    Attributes
    ----------
    name, form
        Which one.
    n_params
        Free parameters.
    mse
        Mean squared log residual of the rows it was fitted to.
    aic, aicc, bic
        See `laws.result.Quality`; by rows, so too sure where rows are checkpoints.
    held_out
        Root mean squared log residual of rows held out at random, mean over splits.
    held_out_spread
        Standard deviation of that over splits.
    extrapolated
        Root mean squared log residual of the largest shapes when fitted to the others.
    extrapolated_bias
        Mean log residual there: negative when the law is too hopeful about large models.
    by_group
        Mean log residual in the lower, middle and upper third of each scale.
    problem
        Why it could not be fitted, empty otherwise.
    """

    name: str
    form: Form
    n_params: int = 0
    mse: float = np.nan
    aic: float = np.nan
    aicc: float = np.nan
    bic: float = np.nan
    held_out: float = np.nan
    held_out_spread: float = np.nan
    extrapolated: float = np.nan
    extrapolated_bias: float = np.nan
    by_group: Mapping[str, tuple[float, float, float]] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Comparison:
    """Forms side by side, best first.

    Attributes
    ----------
    contenders
        By AICc; those that could not be fitted at the end.
    asked
        Name of the form that the question was about, the first one given.
    n_runs, n_groups
        Rows, and independent runs among them.
    sentence
        The result in plain words.
    """

    contenders: tuple[Contender, ...]
    asked: str
    n_runs: int
    n_groups: int
    sentence: str
    notices: tuple[Notice, ...]
    source: str
    history: tuple[str, ...]

    def __getitem__(self, name: str) -> Contender:
        for contender in self.contenders:
            if contender.name == name:
                return contender
        raise unknown_name("form", str(name), [contender.name for contender in self.contenders])

    def to_table(self) -> pa.Table:
        """One row a form."""
        import pyarrow as pa

        keys = ("name", "n_params", "mse", "aic", "aicc", "bic", "held_out", "held_out_spread",
                "extrapolated", "extrapolated_bias", "problem")  # fmt: skip
        return pa.table({key: [getattr(c, key) for c in self.contenders] for key in keys})

    def _repr_html_(self) -> str:
        cells = [
            (c.name, c.n_params, f"{c.aicc:.1f}", f"{c.held_out:.2%}", f"{c.extrapolated:.2%}")
            if not c.problem
            else (c.name, None, None, None, c.problem)
            for c in self.contenders
        ]
        head = ("form", "params", "AICc", "held out", "largest out")
        return result_html(self.sentence, head, cells, [notice.message for notice in self.notices])


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
    columns = with_nominal_params({name: table[name] for name in table.columns if name != "loss"})
    columns = {name: values for name, values in columns.items() if np.all(values > 0)}
    asked = config.resolve(table.columns)
    if config.forms:
        forms = [replace(config, form=text).resolve(columns) for text in config.forms]
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
    notices = list(table.notices)
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


def sentence(ranked: Sequence[Contender], asked: str) -> str:
    """The result in plain words: who wins, by how much, and which terms do nothing.

    Parameters
    ----------
    ranked
        Best AICc first, those that could not be fitted last.
    """
    fitted = [c for c in ranked if not c.problem]
    best = fitted[0]
    own = next((c for c in fitted if c.name == asked), None)
    level = [c.name for c in fitted[1:] if c.aicc - best.aicc < TIE]
    parts = [
        f"{best.name} is preferred by AICc" if not level else f"{best.name} is level with {', '.join(level)}"
    ]
    rivals = [c for c in fitted if c.name not in (best.name, *level)]
    if rivals:
        parts.append(f"{rivals[0].name} is {rivals[0].aicc - best.aicc:.1f} behind")
    text = "; ".join(parts) + "."
    if own is None:
        return text
    for contender in fitted:
        less = set(own.form.scales) - set(contender.form.scales)
        if len(less) == 1 and set(contender.form.scales) < set(own.form.scales):
            (scale,) = less
            if contender.aicc <= own.aicc:
                text += (
                    f" The {scale} term does nothing for the fit: leave it out, its exponent has no meaning."
                )
    if own is not best and own.name not in level and best.form.scales[0] in ("params", "nominal_params"):
        text += " The parameter count alone describes these losses better than width and depth apart."
    return text
