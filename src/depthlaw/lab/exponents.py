"""Depth exponents of trained students: loss against depth, fitted by `depthlaw.laws`, at any logged step.

A power law with and without a floor is fitted to the geometric mean of the test loss over replicates and test
batches. The interval is of replicates and test batches resampled together; students of a replicate saw the
same test batches, so these are resampled as pairs. With one replicate it says nothing about other teachers.

Replicates are few, so the interval is Student's: the standard deviation over resamples, times what
`depthlaw.numerics.resampling.reach` says. Percentiles of three teachers cannot reach beyond the most extreme
of them, however they are moved outwards, and would hold the truth three times in four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import FitError
from depthlaw.lab.streams import Purpose, generator
from depthlaw.laws.fit import fit
from depthlaw.laws.form import Form, bind
from depthlaw.numerics.resampling import reach

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]

UNITS = {
    "alpha": "1",
    "low": "1",
    "high": "1",
    "fit_low": "1",
    "fit_high": "1",
    "floor": "loss",
    "form": "label",
    "replicas": "number",
    "depths": "number",
    "status": "label",
    "reason": "label",
}
"""Of the columns that `depthlaw.lab.metrics.UNITS` does not have."""


@dataclass(frozen=True)
class Exponent:
    """The depth exponent of one ρ and temperature at one step.

    Attributes
    ----------
    rho, temperature, step
        Of which students, when.
    form
        ``power`` or ``power+floor``.
    alpha
        c·depth^-alpha; ``None`` when the depths do not determine it.
    low, high
        Interval over replicates and test batches; ``None`` with one of each. Not below 0, as the fit's own.
    fit_low, fit_high
        Profile likelihood interval of the fit: how far the losses are from a power law.
    floor
        Fitted floor, 0 without.
    replicas, depths
        How many of each went in.
    status
        Of the exponent, as `depthlaw.laws` says it.
    reason
        Why it is not identified, in words; empty if it is.
    """

    rho: float
    temperature: float | None
    step: int
    form: str
    alpha: float | None
    low: float | None
    high: float | None
    fit_low: float | None
    fit_high: float | None
    floor: float | None
    replicas: int
    depths: int
    status: str
    reason: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Exponents(Shown):
    """Exponents by ρ, temperature, step and form, in that order."""

    rows: tuple[Exponent, ...]

    def to_table(self) -> pa.Table:
        """Return one row per exponent."""
        import pyarrow as pa

        return pa.Table.from_pylist([vars(row) for row in self.rows]) if self.rows else pa.table({})

    def _repr_html_(self) -> str:
        names = ("rho", "temperature", "step", "form", "alpha", "status")
        rows = [
            (*(getattr(row, name) for name in names[:5]), (row.low, row.high), row.status)
            for row in self.rows
        ]
        return result_html("depth exponents", (*names[:5], "interval", "status"), rows)

    def select(self, **what: Any) -> tuple[Exponent, ...]:
        """Return the exponents whose fields have these values: ``select(rho=1.0, form="power")``."""
        return tuple(row for row in self.rows if all(getattr(row, k) == v for k, v in what.items()))


@dataclass(frozen=True)
class _Losses:
    """Test losses of one ρ and temperature at one step; ``log_loss`` (replicas, depths, batches), NaN where
    a student had diverged."""

    rho: float
    temperature: float | None
    step: int
    depths: Array
    log_loss: Array


def exponents(
    test_batches: pa.Table,
    *,
    depths: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    floor: Sequence[bool] = (False, True),
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> Exponents:
    """Fit depth exponents.

    Parameters
    ----------
    test_batches
        (replica, temperature, rho, depth, step, batch, test_loss), as training writes it.
    depths
        Which depths to fit over, ``None`` for all.
    steps
        Which steps, ``None`` for the last; see `steps_tested`.
    floor
        Which forms: without a floor, with one, or both.
    level
        Of the intervals.
    resamples
        Of replicates and test batches; 0 for no interval.
    """
    chosen = [max(steps_tested(test_batches), default=0)] if steps is None else list(steps)
    rows = []
    for losses in _groups(test_batches, depths, set(chosen)):
        for with_floor in floor:
            rows.append(_exponent(losses, with_floor, level, resamples, seed))
    return Exponents(tuple(rows))


def steps_tested(test_batches: pa.Table) -> list[int]:
    """Return the steps at which students were tested, in order."""
    return sorted(set(test_batches["step"].to_pylist()))


def _groups(table: pa.Table, depths: Sequence[int] | None, steps: set[int]) -> Iterator[_Losses]:
    names = ("rho", "temperature", "step", "replica", "depth", "batch", "test_loss")
    columns = [table[name].to_pylist() for name in names]
    groups: dict[tuple[float, float | None, int], dict[tuple[int, int, int], float]] = {}
    for rho, temperature, step, replica, depth, batch, loss in zip(*columns, strict=True):
        if step in steps and (depths is None or depth in depths) and loss > 0:
            groups.setdefault((rho, temperature, step), {})[replica, depth, batch] = loss
    for (rho, temperature, step), cells in sorted(
        groups.items(), key=lambda g: (g[0][0], g[0][1] or 0, g[0][2])
    ):
        places = [sorted({key[axis] for key in cells}) for axis in range(3)]
        values = np.full([len(place) for place in places], np.nan)
        for key, loss in cells.items():
            values[tuple(place.index(k) for place, k in zip(places, key, strict=True))] = np.log(loss)
        yield _Losses(rho, temperature, step, np.array(places[1], float), values)


def _exponent(losses: _Losses, floor: bool, level: float, resamples: int, seed: int) -> Exponent:
    mean = np.nanmean(losses.log_loss, (0, 2))
    value = low = high = fit_low = fit_high = at_floor = None
    try:
        found = fit(
            {"depth": losses.depths, "loss": np.exp(mean)}, form="depth", floor=floor, level=level, seed=seed
        )
    except FitError as error:
        status = "not-identified"
        reason = error.message.removeprefix("not identified: ").rstrip(".")
    else:
        params = {param.name: param for param in found.params}
        alpha = params["alpha_depth"]
        status, value, at_floor = str(alpha.status), alpha.value, params["floor"].value
        reason = alpha.reason
        fit_low, fit_high = alpha.interval or (None, None)
        if value is not None and resamples:
            low, high = _interval(losses, floor, found.point, value, level, resamples, seed)
    return Exponent(
        rho=losses.rho,
        temperature=losses.temperature,
        step=losses.step,
        form="power+floor" if floor else "power",
        alpha=value,
        low=low,
        high=high,
        fit_low=fit_low,
        fit_high=fit_high,
        floor=at_floor,
        replicas=len(losses.log_loss),
        depths=len(losses.depths),
        status=status,
        reason=reason,
    )


def _interval(
    losses: _Losses, floor: bool, point: Array, value: float, level: float, resamples: int, seed: int
) -> tuple[float | None, float | None]:
    """Student's interval of an exponent: over replicates, over test batches where there is one replicate."""
    replicas, _, batches = losses.log_loss.shape
    groups = replicas if replicas > 1 else batches
    if groups < 2:
        return None, None
    spread = float(_resampled(losses, floor, point, resamples, seed).std())
    half = reach(groups, groups - 1, level) * spread
    return max(value - half, 0.0), value + half


def _resampled(losses: _Losses, floor: bool, point: Array, resamples: int, seed: int) -> Array:
    """Exponents (resamples,) with replicates, and test batches within each, drawn with replacement."""
    replicas, depths, batches = losses.log_loss.shape
    rng = generator(seed, 0, Purpose.RESAMPLING)
    times = rng.multinomial(replicas, np.full(replicas, 1 / replicas), resamples)  # (resamples, replicas)
    within = rng.multinomial(batches, np.full(batches, 1 / batches), (resamples, replicas))
    counts = (times[:, :, None] * within)[:, :, None, :]  # (resamples, replicas, 1, batches)
    weights = np.broadcast_to(counts, (resamples, replicas, depths, batches)).reshape(resamples, -1)
    seen = np.isfinite(losses.log_loss).ravel()
    depth = np.broadcast_to(losses.depths[None, :, None], losses.log_loss.shape).ravel()[seen]
    bound = bind(Form(("depth",), floor=floor), {"depth": depth}, np.exp(losses.log_loss.ravel()[seen]))
    start = np.broadcast_to(bound.to_internal(point), (resamples, len(point)))
    solved = bound.problem.solve(start, weights=weights[:, seen].astype(float))
    found: Array = bound.to_point(solved.params)[:, bound.form.param_names.index("alpha_depth")]
    return found
