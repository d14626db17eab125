"""The law along choices: one curve a choice, one setting a point of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.laws.result import Estimate

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Setting:
    """The law under one choice.

    Attributes
    ----------
    label
        The choice, for people.
    value
        Its place on an axis.
    n_runs
        Rows left.
    mse
        Mean squared log residual.
    exponents
        One estimate per exponent, and the floor; empty if the fit was impossible.
    problem
        Why it was, empty otherwise.
    """

    label: str
    value: float
    n_runs: int
    mse: float = np.nan
    exponents: tuple[Estimate, ...] = ()
    problem: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Shown):
    """The law along one choice.

    Attributes
    ----------
    knob
        Which choice.
    axis
        What ``value`` of the settings counts, for an axis label.
    settings
        In order.
    base
        Index of the setting that the fit itself has; ``None`` if it is not among them.
    """

    knob: str
    axis: str
    settings: tuple[Setting, ...]
    base: int | None = None

    def to_table(self) -> pa.Table:
        """One row per setting and parameter."""
        import pyarrow as pa

        rows = [
            {
                "label": s.label,
                "setting": s.value,
                "n_runs": s.n_runs,
                "mse": s.mse,
                "name": e.name,
                "value": e.value,
                "stderr": e.stderr,
                "low": e.interval[0] if e.interval else None,
                "high": e.interval[1] if e.interval else None,
                "status": str(e.status),
            }
            for s in self.settings
            for e in s.exponents
        ]
        return pa.Table.from_pylist(rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that appear along the curve, in the order of the form."""
        return tuple(dict.fromkeys(e.name for s in self.settings for e in s.exponents))

    def _repr_html_(self) -> str:
        rows = []
        for setting in self.settings:
            found = {e.name: e for e in setting.exponents}
            cells = [_shown(found.get(name)) for name in self.names]
            rows.append((setting.label, setting.n_runs, *cells, setting.problem))
        return result_html(f"along {self.axis}", ("", "runs", *self.names, ""), rows)


def _shown(estimate: Estimate | None) -> str | None:
    if estimate is None or estimate.value is None:
        return None
    interval = estimate.interval
    return f"{estimate.value:.3g}" + (f" [{interval[0]:.3g}, {interval[1]:.3g}]" if interval else "")


class Sensitivity(tuple[Curve, ...]):
    """Curves, one a choice; a tuple that can also be had as one table."""

    __slots__ = ()

    def to_table(self) -> pa.Table:
        """The rows of all curves, with the choice in front."""
        import pyarrow as pa

        parts = []
        for curve in self:
            part = curve.to_table()
            knob = pa.array([curve.knob] * len(part), pa.string())
            parts.append(part.add_column(0, "knob", knob))
        return pa.concat_tables(parts)

    def _repr_html_(self) -> str:
        return "".join(curve._repr_html_() for curve in self)
