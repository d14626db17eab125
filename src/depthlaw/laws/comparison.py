"""Forms side by side: how each fared, and the result in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import Notice, unknown_name
from depthlaw.laws.form import Form

if TYPE_CHECKING:
    import pyarrow as pa

TIE = 2.0
"""Difference in AICc below which two forms are level (Burnham and Anderson 2002, §2.6)."""


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


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
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
