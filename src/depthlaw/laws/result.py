"""What a fit found: estimates with their status, the certificate, predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.data.columns import QUANTITIES
from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import Notice, UsageError, unknown_name
from depthlaw.laws.form import Form, shifted_log
from depthlaw.numerics.losses import Huber, Loss, Squares
from depthlaw.numerics.terms import Array

if TYPE_CHECKING:
    import pyarrow as pa


class Status(StrEnum):
    """What is known about a parameter."""

    OK = "ok"
    NOT_IDENTIFIED = "not-identified"
    BOUNDARY = "boundary"
    FIXED = "fixed"
    TIED = "tied"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Estimate:
    """One parameter of a law, in natural units.

    Attributes
    ----------
    value
        Best-fitting value; ``None`` when the data do not determine it.
    stderr
        Standard error from s²(JᵀJ)⁻¹ of the log residuals; ``None`` where a symmetric error has no meaning.
    interval
        Profile likelihood interval at the fit's level; ``None`` when not identified or fixed.
    status
        Whether and how it is known.
    reason
        One sentence when the status is not ``ok``, empty otherwise.
    """

    name: str
    value: float | None
    stderr: float | None
    interval: tuple[float, float] | None
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Quality:
    """How well the law describes the table; log residuals are ln(predicted) − ln(observed).

    Attributes
    ----------
    mse
        Mean squared log residual, weighted.
    mean_abs_rel_error
        Mean of \\|predicted − observed\\| / observed.
    aic, aicc, bic
        n·ln(mse) plus the penalty for the free parameters.
    """

    mse: float
    mean_abs_rel_error: float
    aic: float
    aicc: float
    bic: float


@dataclass(frozen=True)
class Certificate:
    """Why the optimum can be believed.

    Attributes
    ----------
    objective
        The minimum: mean squared log residual.
    scaled_gradient
        Largest cosine between the residuals and a column of the Jacobian; 0 at an exact stationary point.
    starts, starts_at_best
        Starting points, and how many ended at the best objective to 1e-6 relative.
    condition
        Condition number of the Jacobian with unit columns, in centred coordinates.
    restarts
        Times a profile found a better optimum and the fit was restarted from it.
    converged
        Gradient at rounding level and at least two starts agreeing.
    """

    objective: float
    scaled_gradient: float
    starts: int
    starts_at_best: int
    condition: float
    restarts: int
    converged: bool


@dataclass(frozen=True)
class ProfileCurve:
    """Profile of one parameter in natural units: ζ = ±√(ΔRSS/s²); the interval is \\|ζ\\| ≤ threshold."""

    name: str
    value: Array
    zeta: Array
    threshold: float


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Shown):
    """A fitted law.

    Attributes
    ----------
    form
        The terms that were fitted.
    params
        One `Estimate` per parameter that was asked for, in the order of the form.
    point
        The best-fitting point in natural units, [c₁, α₁, …, floor] of ``form``: complete even where single
        parameters are not identified, because predictions between the data still are.
    covariance
        (params, params) of ``point``; zero rows for parameters that were fixed or lie at a boundary.
    quality, certificate, profiles
        See there.
    notices
        What the reader must know, from the table and from the fit.
    level
        Confidence level of the intervals.
    errors
        How errors and intervals were found, in words.
    objective
        "mse" or "huber".
    delta
        Turning point of the Huber objective, in log units; 0 for mse.
    data
        The rows that were fitted: scales and loss, and where there are any weights and cluster (an index),
        (runs,) each.
    source
        What the table was read from.
    history
        What was done to the table before the fit.
    """

    form: Form
    params: tuple[Estimate, ...]
    point: Array
    covariance: Array
    quality: Quality
    certificate: Certificate
    profiles: tuple[ProfileCurve, ...]
    notices: tuple[Notice, ...]
    level: float
    errors: str
    objective: str
    delta: float
    data: Mapping[str, Array]
    source: str
    history: tuple[str, ...]

    def in_short(self) -> str:
        """The law with its numbers."""
        known = [f"{p.name} {p.value:.4g}" if p.value is not None else f"{p.name} ?" for p in self.params]
        return f"{self.form}; {self.n_runs} runs; {', '.join(known)}"

    @property
    def n_runs(self) -> int:
        """Number of rows fitted."""
        return len(self.data["loss"])

    @property
    def loss(self) -> Loss:
        """The objective on log residuals."""
        return Huber(self.delta) if self.objective == "huber" else Squares()

    @property
    def groups(self) -> NDArray[np.intp]:
        """(runs,) index of what each row stands or falls with: its cluster, or itself."""
        cluster = self.data.get("cluster")
        return np.arange(self.n_runs) if cluster is None else cluster.astype(np.intp)

    @property
    def identified(self) -> bool:
        """Whether every parameter that was asked for is determined by the data."""
        return all(p.status not in (Status.NOT_IDENTIFIED, Status.DROPPED) for p in self.params)

    def __getitem__(self, name: str) -> Estimate:
        for estimate in self.params:
            if estimate.name == name:
                return estimate
        raise unknown_name("parameter", str(name), [estimate.name for estimate in self.params])

    def terms(
        self, scales: Mapping[str, ArrayLike] | None = None, *, point: Array | None = None
    ) -> dict[str, Array]:
        """The loss split into its terms.

        Parameters
        ----------
        scales
            Numbers or arrays for every scale of the form, which broadcast; ``None`` for the fitted rows.
        point
            (params,) another point of the form; ``None`` for the best-fitting one.

        Returns
        -------
        dict
            One array per scale, and ``floor``; they add up to the predicted loss.

        Raises
        ------
        UsageError
            If a scale is missing, no number, not positive or not above its offset.
        """
        point = self.point if point is None else point
        if isinstance(scales, Mapping):
            self._refuse_unknown(scales)
        arrays = self._arrays(self.data if scales is None else scales)
        split = {}
        for k, (scale, values) in enumerate(zip(self.form.scales, arrays, strict=True)):
            log_x = shifted_log(scale, values, self.form.offsets.get(scale, 0.0))
            split[scale] = np.exp(point[2 * k] - point[2 * k + 1] * log_x)
        split["floor"] = np.full(arrays[0].shape, point[-1])
        return split

    def predict(self, scales: Mapping[str, ArrayLike] | None = None, **by_name: ArrayLike) -> Array:
        """Loss at the best-fitting point: ``law.predict(width=4096, depth=32, tokens=1e12)``.

        Takes scales by name or, as `terms` does, in a mapping; without any, predicts the fitted rows.
        """
        for name in by_name:
            if name not in self.form.scales:
                raise unknown_name(f"scale of the law {self.form}", name, self.form.scales)
        if by_name:
            scales = by_name if scales is None else {**scales, **by_name}
        total: Array = np.sum(list(self.terms(scales).values()), axis=0)
        return total

    def _refuse_unknown(self, scales: Mapping[Any, Any]) -> None:
        """Refuse what is no column of a run table: a value that would be ignored was meant to matter."""
        for name in scales:
            if name not in (*QUANTITIES, *self.data, *self.form.scales):
                raise unknown_name(f"scale of the law {self.form}", str(name), self.form.scales)

    def _arrays(self, scales: Any) -> list[Array]:
        """The scales of the form as arrays of one shape."""
        example = f"For example predict({', '.join(f'{s}=…' for s in self.form.scales)})."
        if not isinstance(scales, Mapping):
            raise UsageError(f"scales are given by name, not as {type(scales).__name__}.", example)
        if missing := [name for name in self.form.scales if name not in scales]:
            raise UsageError(f"the law {self.form} needs a value for {' and '.join(missing)}.", example)
        try:
            return list(np.broadcast_arrays(*(np.asarray(scales[s], float) for s in self.form.scales)))
        except (TypeError, ValueError) as error:
            raise UsageError(f"scales are numbers or arrays of one shape: {error}.", example) from None

    def at(self, point: Array) -> Array:
        """(runs,) loss of the fitted rows at another point [ln c₁, α₁, …, floor]."""
        total: Array = np.sum(list(self.terms(point=point).values()), axis=0)
        return total

    def residuals(self) -> Array:
        """(runs,) ln(predicted) − ln(observed)."""
        residuals: Array = np.log(self.predict()) - np.log(self.data["loss"])
        return residuals

    def save(self, path: str | Path) -> None:
        """Write the fit to a JSON file, exact to the last bit; see `depthlaw.laws.saved.save_fit`."""
        from depthlaw.laws.saved import save_fit

        save_fit(self, path)

    @staticmethod
    def load(path: str | Path) -> Fit:
        """Read a fit that `save` wrote; see `depthlaw.laws.saved.load_fit`."""
        from depthlaw.laws.saved import load_fit

        return load_fit(path)

    def to_table(self) -> pa.Table:
        """Estimates as a tidy table: name, value, stderr, low, high, status, reason."""
        import pyarrow as pa

        rows = [
            {
                "name": p.name,
                "value": p.value,
                "stderr": p.stderr,
                "low": p.interval[0] if p.interval else None,
                "high": p.interval[1] if p.interval else None,
                "status": str(p.status),
                "reason": p.reason,
            }
            for p in self.params
        ]
        number, text = pa.float64(), pa.string()
        schema = {"name": text, "value": number, "stderr": number, "low": number, "high": number}
        return pa.Table.from_pylist(rows, schema=pa.schema({**schema, "status": text, "reason": text}))

    def _repr_html_(self) -> str:
        rows = [(p.name, p.value, p.stderr, p.interval, p.status) for p in self.params]
        head = ("", "value", "stderr", f"{self.level:.0%} interval", "status")
        title = f"loss = {self.form}, {self.n_runs} runs of {self.source}"
        said = [notice.message for notice in self.notices]
        alone = [p for p in self.params if p.reason and not any(p.reason in message for message in said)]
        return result_html(title, head, rows, [*(f"{p.name}: {p.reason}" for p in alone), *said])


def require_fit(law: Any, verb: str) -> None:
    """Refuse what is no fitted law where one is expected: a table, the path of one, or of a saved fit.

    Raises
    ------
    UsageError
        With what to write instead.
    """
    if not isinstance(law, Fit):
        raise UsageError(
            f"{verb} takes a fitted law, not {type(law).__name__}.",
            f"Fit the table first: {verb}(fit(runs), …); a saved fit is read by Fit.load(path).",
        )
