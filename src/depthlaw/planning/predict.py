"""Predictions of a fitted law, with intervals, split into terms, and how far they lie outside the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.data.bounds import check_count, check_level
from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import Notice, UsageError, unknown_name
from depthlaw.laws.form import shifted_log
from depthlaw.laws.result import Fit, require_fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.draws import Draws, has_profile, parameter_draws, settled
from depthlaw.planning.plan_config import FEWEST
from depthlaw.planning.region import Quantity, Region, delta_range, profile_range, region_of
from depthlaw.planning.support import FAR, NEAR, NOT_SCALES, Distance, dials, distance, undetermined
from depthlaw.plurals import counted

if TYPE_CHECKING:
    import pyarrow as pa

MOST_PROFILES = 60
"""Points up to which each gets a profile likelihood; more get the first-order interval."""


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Shown):
    """Predicted losses; arrays are (points,).

    Attributes
    ----------
    scales
        Where.
    loss
        Of the best-fitting law.
    low, high
        Interval of the law's loss there: what many runs would average to.
    run_low, run_high
        Interval of a single run: the law's, widened by the scatter of the runs.
    terms
        The loss split by scale, and ``floor``.
    distance
        From the data.
    determined
        Whether the data determine the law there; loss and intervals are NaN where not.
    reasons
        Why not, where not.
    level, how
        Level of the intervals, and how they were found.
    scatter
        Residual standard deviation of ln loss.
    notices
        What the reader must know.
    """

    scales: Mapping[str, Array]
    loss: Array
    low: Array
    high: Array
    run_low: Array
    run_high: Array
    terms: Mapping[str, Array]
    distance: Distance
    determined: NDArray[np.bool_]
    reasons: tuple[str, ...]
    level: float
    how: str
    scatter: float
    notices: tuple[Notice, ...]

    def in_short(self) -> str:
        """How many points, and the losses there."""
        points = counted(len(self), "point")
        losses = np.array2string(self.loss, precision=4, threshold=6)
        return f"{points} of {', '.join(self.scales)}; loss {losses}"

    def __len__(self) -> int:
        return len(self.loss)

    def columns(self) -> dict[str, Array]:
        """Everything as columns, distances as ``beyond_<scale>`` and ``hull``."""
        return {
            **self.scales,
            "predicted": self.loss,
            "low": self.low,
            "high": self.high,
            "run_low": self.run_low,
            "run_high": self.run_high,
            **{f"term_{name}": value for name, value in self.terms.items()},
            **{f"beyond_{name}": value for name, value in self.distance.beyond.items()},
            "hull": self.distance.hull,
        }

    def to_table(self) -> pa.Table:
        """The columns as a table, one row a point."""
        import pyarrow as pa

        return pa.table(self.columns())

    def _repr_html_(self) -> str:
        columns = {**self.scales, "loss": self.loss, "low": self.low, "high": self.high}
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        title = f"{self.level:.0%} intervals, {self.how}"
        return result_html(title, list(columns), rows, [notice.message for notice in self.notices])


def log_loss(fit: Fit, scales: Mapping[str, Array], index: int = 0) -> Quantity:
    """ln L at one point, as a quantity of the law."""
    logs = [
        float(shifted_log(s, np.atleast_1d(scales[s]), fit.form.offsets.get(s, 0.0))[index])
        for s in fit.form.scales
    ]

    def quantity(points: Array) -> Array:
        total: Array = points[:, -1].copy()
        for k, log_x in enumerate(logs):
            total = total + np.exp(points[:, 2 * k] - points[:, 2 * k + 1] * log_x)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total))

    return quantity


def predict_at(
    fit: Fit, *, level: float | None = None, resamples: int | Draws = 400, seed: int = 0, **scales: ArrayLike
) -> Prediction:
    """Predict the loss at points: ``predict_at(fit, width=4096, depth=32, tokens=1e12)``.

    See `predict_points`, which takes the scales as a mapping.
    """
    return predict_points(fit, scales, level=level, resamples=resamples, seed=seed)


def predict_points(
    fit: Fit,
    scales: Mapping[str, ArrayLike],
    *,
    level: float | None = None,
    resamples: int | Draws = 400,
    seed: int = 0,
) -> Prediction:
    """Predict the loss at points.

    Parameters
    ----------
    scales
        Numbers or arrays (points,) that broadcast; one for every term of the law.
    level
        Of the intervals; ``None`` for that of the fit.
    resamples, seed
        How many refits make the intervals of a fit with parameters that are not identified, or the refits
        themselves.

    Raises
    ------
    UsageError
        If a scale is missing, not positive or not above its offset.
    """
    require_fit(fit, "predict_at")
    check_level(level)
    if isinstance(resamples, int):
        check_count("resamples", resamples, FEWEST)
    check_count("seed", seed, 0)
    points = as_points(fit, scales)
    level = fit.level if level is None else level
    region = region_of(fit, level)
    mask, reasons = undetermined(fit, points)
    terms = fit.terms(points)
    if not settled(fit):
        resamples = resamples if isinstance(resamples, Draws) else parameter_draws(fit, resamples, seed)
        terms = _terms_of_middle_laws(fit, points, ~mask, resamples)
    loss = np.where(mask, np.nan, np.sum(list(terms.values()), axis=0))
    terms = _joined(fit, terms, mask)
    low, high, how = _intervals(fit, points, region, ~mask, level, resamples, seed)
    scatter = scatter_of(region)
    far = region.threshold * scatter
    away = distance(fit, points)
    notices = _notices(away, mask, reasons)
    with np.errstate(divide="ignore"):  # an interval may begin at 0, infinitely far below in logs
        run_low = loss * np.exp(-np.hypot(np.log(loss / low), far))
    return Prediction(
        scales=points,
        loss=loss,
        low=low,
        high=high,
        run_low=run_low,
        run_high=loss * np.exp(np.hypot(np.log(high / loss), far)),
        terms=terms,
        distance=away,
        determined=~mask,
        reasons=reasons,
        level=level,
        how=how,
        scatter=scatter,
        notices=notices,
    )


def as_points(fit: Fit, scales: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Scales as arrays (points,) of equal length, checked against the law.

    Raises
    ------
    UsageError
        If one is missing, unknown to the law, not positive, or they do not broadcast.
    """
    refuse_unknown(fit, scales)
    known = [s for s in fit.data if s not in NOT_SCALES]
    missing = [s for s in fit.form.scales if s not in scales]
    if missing:
        needed = " and ".join(missing)
        raise UsageError(f"the law {fit.form} needs a value of {needed}.", f"Give {needed} as well.")
    arrays = {s: as_numbers(s, scales[s]) for s in known if s in scales}
    sizes = {s: len(a) for s, a in arrays.items() if len(a) != 1}
    if len(set(sizes.values())) > 1:
        listing = ", ".join(f"{size} of {scale}" for scale, size in sizes.items())
        raise UsageError(f"the scales differ in their number of values: {listing}.", "Give as many of each.")
    size = next(iter(sizes.values()), 1)
    for scale, array in arrays.items():
        bad = array[~(np.isfinite(array) & (array > 0))]
        if len(bad):
            raise UsageError(f"{scale} must be positive, not {bad[0]:g}.")
    return {s: np.broadcast_to(a, (size,)).copy() for s, a in arrays.items()}


def refuse_unknown(fit: Fit, scales: Mapping[str, ArrayLike]) -> None:
    """Refuse scales that the law does not have.

    Raises
    ------
    UsageError
        For the first of them.
    """
    known = [s for s in fit.data if s not in NOT_SCALES]
    for scale in scales:
        if scale not in known:
            error = unknown_name("scale", scale, known)
            raise UsageError(f"the law {fit.form} has no {scale}.", error.hint)


def as_numbers(name: str, values: ArrayLike) -> Array:
    """Values of a scale as an array (points,).

    Raises
    ------
    UsageError
        If they are no numbers, or have more than one dimension.
    """
    array = np.atleast_1d(np.asarray(values))
    try:
        if array.dtype.kind in "USb":  # NumPy would read "2.5" and True as numbers
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is a number or an array of numbers, not {values!r:.60}.") from None
    if array.ndim > 1:
        raise UsageError(f"{name} has shape {array.shape}; one value for each point is expected.")
    return array


def scatter_of(region: Region) -> float:
    """Residual standard deviation of ln loss, freedom taken into account; also for a Huber objective."""
    problem = region.bound.problem
    residual = problem.residuals(region.params(np.zeros((1, region.root.shape[1]))))[0][0]
    weights = problem.weights / problem.weights.mean()
    return float(np.sqrt(weights @ residual**2 / max(problem.n_runs - problem.map.n_free, 1)))


def _terms_of_middle_laws(
    fit: Fit, points: Mapping[str, Array], wanted: NDArray[np.bool_], draws: Draws
) -> dict[str, Array]:
    """Terms of the loss at each point by the law whose loss there is the median of those drawn.

    Where parameters are open the optimum is one of many laws that fit as well, and may predict anything
    between the runs.
    """
    terms = {name: np.array(value, float) for name, value in fit.terms(points).items()}
    for i in np.flatnonzero(wanted):
        losses = log_loss(fit, points, int(i))(draws.points)
        law = draws.points[np.argsort(losses)[len(losses) // 2]]
        here = {scale: values[[i]] for scale, values in points.items()}
        for name, value in fit.terms(here, point=law).items():
            terms[name][i] = value[0]
    return terms


def _joined(fit: Fit, terms: dict[str, Array], mask: NDArray[np.bool_]) -> dict[str, Array]:
    """Terms of scales on one dial together: how they share is not determined."""
    for dial in dials(fit):
        if dial.one in terms and dial.other in terms:
            terms = {f"{dial.one}+{dial.other}": terms.pop(dial.one) + terms.pop(dial.other), **terms}
    return {name: np.where(mask, np.nan, value) for name, value in terms.items()}


def _intervals(
    fit: Fit,
    points: Mapping[str, Array],
    region: Region,
    wanted: NDArray[np.bool_],
    level: float,
    resamples: int | Draws,
    seed: int,
) -> tuple[Array, Array, str]:
    size = len(wanted)
    low, high = np.full(size, np.nan), np.full(size, np.nan)
    if not has_profile(fit):
        draws = resamples if isinstance(resamples, Draws) else parameter_draws(fit, resamples, seed)
        for i in np.flatnonzero(wanted):
            ends = draws.interval(log_loss(fit, points, int(i))(draws.points), level)
            low[i], high[i] = np.exp(ends)
        return low, high, f"quantiles of {draws.how}"
    search = profile_range if wanted.sum() <= MOST_PROFILES else delta_range
    for i in np.flatnonzero(wanted):
        low[i], high[i] = np.exp(search(region, log_loss(fit, points, int(i))))
    return low, high, "profile likelihood" if search is profile_range else "first order (delta method)"


def _notices(away: Distance, mask: NDArray[np.bool_], reasons: tuple[str, ...]) -> tuple[Notice, ...]:
    found = [Notice("not-determined", reason) for reason in reasons]
    outside = (away.hull > NEAR) & ~mask
    if outside.any():
        worst = int(np.argmax(np.where(outside, away.hull, -1.0)))
        code = "far-outside-data" if away.hull[worst] > FAR else "outside-data"
        which = (
            "the point is"
            if len(mask) == 1
            else f"{outside.sum()} of {len(mask)} points are outside; the farthest is"
        )
        doubt = "the interval is about the law's parameters, not about whether it holds there"
        message = f"{which} {away.words(worst)}: {doubt}"
        found.append(Notice(code, message))
    return tuple(found)
