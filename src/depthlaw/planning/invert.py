"""Which scale, model or compute reaches a loss; "unreachable" where none does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from depthlaw.data.bounds import check_count, check_level
from depthlaw.errors import UsageError
from depthlaw.laws.result import Fit, require_fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.answers import Answer, Reach, Reaches
from depthlaw.planning.cheapest import cheapest
from depthlaw.planning.draws import has_profile, parameter_draws, settled
from depthlaw.planning.plan_config import FEWEST
from depthlaw.planning.predict import as_numbers, as_points, log_loss, refuse_unknown
from depthlaw.planning.region import Region, profile_range, region_of
from depthlaw.planning.support import distance, undetermined

LARGEST = 80.0
"""Log of a scale up to which it is followed, and at which a term counts as gone."""


def reach(
    fit: Fit,
    loss: float,
    *,
    level: float | None = None,
    resamples: int = 400,
    seed: int = 0,
    **scales: ArrayLike,
) -> Reaches:
    """Find what reaches ``loss``.

    With every scale of the law given: each scale in turn, the others held. With one missing: that one. With
    only tokens given: the fewest parameters (12 m²ℓ, best shape). With none: the least compute (6·N·D).

    Raises
    ------
    UsageError
        For another selection of scales, or a loss that is not positive.
    """
    require_fit(fit, "reach")
    loss = float(as_numbers("loss", loss)[0])
    if not (np.isfinite(loss) and loss > 0):
        raise UsageError(f"a loss of {loss:g} cannot be reached: losses are positive.")
    check_level(level)
    check_count("resamples", resamples, FEWEST)
    check_count("seed", seed, 0)
    refuse_unknown(fit, scales)
    given = {s: float(as_numbers(s, v)[0]) for s, v in scales.items()}
    missing = [s for s in fit.form.scales if s not in given]
    level = fit.level if level is None else level
    if len(missing) <= 1:
        as_points(fit, given | dict.fromkeys(missing, 1e9))
        region = region_of(fit, level)
        return Reaches(
            _one_scale(fit, loss, s, given, region, (level, resamples, seed))
            for s in missing or fit.form.scales
        )
    if "tokens" not in missing and set(missing) == {"width", "depth"}:
        return Reaches([cheapest(fit, loss, given, level, resamples, seed)])
    if set(missing) == set(fit.form.scales) == {"width", "depth", "tokens"}:
        return Reaches([cheapest(fit, loss, {}, level, resamples, seed)])
    raise UsageError(
        f"{' and '.join(missing)} are missing: infinitely many combinations reach a loss.",
        "Give all scales but one, only --tokens (fewest parameters), or none (least compute).",
    )


def _one_scale(
    fit: Fit,
    loss: float,
    scale: str,
    given: Mapping[str, float],
    region: Region,
    sample: tuple[float, int, int],
) -> Reach:
    level, resamples, seed = sample
    offset = fit.form.offsets.get(scale, 0.0)
    others = {s: v for s, v in given.items() if s != scale}

    def at(u: float) -> dict[str, Array]:
        return {s: np.array([v]) for s, v in {**others, scale: offset + np.exp(u)}.items()}

    solve = _needed(fit, loss, scale, others)
    best = float(solve(fit.point[None])[0])
    limit = float(np.exp(log_loss(fit, at(LARGEST))(fit.point[None])[0]))
    if has_profile(fit):
        how = "profile likelihood, inverted"
        limits = np.exp(profile_range(region, log_loss(fit, at(LARGEST))))
        ends = (
            _crossing(lambda u: profile_range(region, log_loss(fit, at(u)))[0] - np.log(loss), best),
            _crossing(lambda u: profile_range(region, log_loss(fit, at(u)))[1] - np.log(loss), best),
        )
    else:
        sampled = parameter_draws(fit, resamples, seed)
        how = f"quantiles of {sampled.how}"
        limits = np.exp(sampled.interval(log_loss(fit, at(LARGEST))(sampled.points), level))
        reached = solve(sampled.points)
        ends = sampled.interval(reached, level)
        if not settled(fit):
            # The optimum is one of many laws that fit as well: take the middle of those that reach it.
            some = reached[np.isfinite(reached)]
            best = float(np.median(some)) if len(some) else np.inf
            at_end = np.exp(log_loss(fit, at(LARGEST))(sampled.points))
            limit = float(np.quantile(at_end, 0.5, method="inverted_cdf"))
    value = offset + float(np.exp(best)) if np.isfinite(best) else None
    found = {**others, scale: value} if value is not None else dict(others)
    answer, reason = Answer.REACHED, ""
    point = {s: np.array([v]) for s, v in found.items()}
    if value is None:
        answer = Answer.UNREACHABLE
        reason = f"without end of {scale} the loss is {limit:.4g} [{limits[0]:.4g}, {limits[1]:.4g}]"
        if limits[0] < loss:
            reason += "; its interval holds the loss asked for, so the data do not exclude it"
    else:
        mask, reasons = undetermined(fit, point)
        if mask.any():
            answer, value, reason = Answer.NOT_DETERMINED, None, "; ".join(reasons)
    known = answer is Answer.REACHED
    return Reach(
        loss=loss, what=scale, answer=answer, value=value,
        low=offset + float(np.exp(ends[0])) if known else None,
        high=offset + float(np.exp(ends[1])) if known else None,
        limit=limit, limit_low=float(limits[0]), limit_high=float(limits[1]),
        at=found, distance=distance(fit, point) if known else None, reason=reason, how=how,
    )  # fmt: skip


def _needed(fit: Fit, loss: float, scale: str, others: Mapping[str, float]) -> Callable[[Array], Array]:
    """Log (less offset) of the scale that reaches ``loss``, by points (laws, params); inf where none does."""
    k = 2 * fit.form.scales.index(scale)

    def needed(points: Array) -> Array:
        rest = points[:, -1].copy()
        for j, other in enumerate(fit.form.scales):
            if other != scale:
                log_x = np.log(others[other] - fit.form.offsets.get(other, 0.0))
                rest = rest + np.exp(points[:, 2 * j] - points[:, 2 * j + 1] * log_x)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = (points[:, k] - np.log(loss - rest)) / points[:, k + 1]
        return np.where((rest < loss) & (points[:, k + 1] > 0), u, np.inf)

    return needed


def _crossing(excess: Callable[[float], float], guess: float) -> float:
    """Where a falling function crosses zero; inf where it never does."""
    guess = guess if np.isfinite(guess) else LARGEST / 4
    low, high = guess - 0.5, guess + 0.5
    while excess(high) > 0:
        low, high = high, high + 2 * (high - guess)
        if high > LARGEST:
            return float("inf")
    while excess(low) < 0:
        low, high = low - 2 * (guess - low) - 0.5, low
        if low < -LARGEST:
            return float("-inf")
    return float(optimize.brentq(excess, low, high, xtol=1e-5))
