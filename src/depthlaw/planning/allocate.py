"""The best width, depth and tokens under a budget, for a whole batch of laws at once.

At the best shape the loss gains equally from the last unit of cost spent on each scale. With
S_x = −∂L/∂ln x and σ_x = ∂ln cost/∂ln x that is S_width/σ_width = S_depth/σ_depth, and = S_tokens when tokens
compete for the same compute. In logarithms these equations are linear for cost ∝ m²ℓ and scales without
offset, so Newton's method in log scales gives the closed form of the paper in one step, and the general case
in a few:

    ℓ = [2 α_ℓ c_ℓ / (α_m c_m)]^(1/α_ℓ) · m^(α_m/α_ℓ),  model term ∝ N^-(α_m α_ℓ/(α_m + 2 α_ℓ)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depthlaw.errors import UsageError
from depthlaw.laws.form import Form
from depthlaw.numerics.terms import Array
from depthlaw.planning.counting import Count
from depthlaw.planning.support import Dial

MAX_ITERATIONS = 60
TOLERANCE = 1e-11
LIMIT = 60.0
"""Logs of scales are searched up to this: a law in which a term never matters has no best shape."""


@dataclass(frozen=True)
class Laws:
    """A batch of laws of one form.

    Attributes
    ----------
    form
        With terms for width and depth, perhaps tokens.
    points
        (laws, params) [ln c₁, α₁, …, floor] each.
    """

    form: Form
    points: Array

    def __post_init__(self) -> None:
        for scale in ("width", "depth"):
            if scale not in self.form.scales:
                raise UsageError(
                    f"the law {self.form} has no {scale} term: it cannot say which shape is best.",
                    'Fit one that has: --form "width + depth + tokens".',
                )

    def coefficient(self, scale: str) -> tuple[Array, Array]:
        """Ln c and α of a scale, (laws,) each."""
        k = 2 * self.form.scales.index(scale)
        return self.points[:, k], self.points[:, k + 1]

    def offset(self, scale: str) -> float:
        """What is subtracted from a scale before the power."""
        return float(self.form.offsets.get(scale, 0.0))

    def log_steepness(self, scale: str, u: Array) -> Array:
        """ln(−∂L/∂ln x) at x = offset + exp(u)."""
        log_c, alpha = self.coefficient(scale)
        with np.errstate(divide="ignore"):
            steep: Array = np.log(alpha) + log_c - alpha * u
        offset = self.offset(scale)
        return steep + np.log1p(offset * np.exp(-u)) if offset else steep

    def loss(self, **scales: Array | float) -> Array:
        """(laws,) loss at scales that broadcast against (laws,); a term without a scale is left out."""
        total: Array = self.points[:, -1].copy()
        for scale, x in scales.items():
            if scale in self.form.scales:
                log_c, alpha = self.coefficient(scale)
                total = total + np.exp(log_c - alpha * np.log(np.asarray(x) - self.offset(scale)))
        return total


@dataclass(frozen=True)
class Best:
    """The best allocation under each of a batch of laws: (laws,) arrays, NaN where there is none.

    Attributes
    ----------
    tokens
        ``None`` when tokens were not allocated.
    """

    width: Array
    depth: Array
    tokens: Array | None


def best_shape(
    laws: Laws, count: Count, total: Array | float, *, depths: tuple[float, float] | None = None
) -> Best:
    """The best shape of ``count`` = ``total``.

    Parameters
    ----------
    total
        One for all laws, or (laws,).
    depths
        Smallest and largest depth allowed, ``None`` for any.
    """
    offset = laws.offset("depth")
    totals = np.broadcast_to(np.asarray(total, float), (len(laws.points),))

    def imbalance(u: Array) -> Array:
        depth = offset + np.exp(u[:, 0])
        width = count.width(totals, depth)
        s_width, s_depth = count.slopes(width, depth)
        v = _log(width - laws.offset("width"))
        value = laws.log_steepness("width", v) - np.log(s_width)
        return (value - laws.log_steepness("depth", u[:, 0]) + np.log(s_depth))[:, None]

    u = _newton(imbalance, (np.log(np.maximum(totals, 1.0)) / 6)[:, None])
    depth = offset + np.exp(u[:, 0])
    if depths is not None:
        depth = np.clip(depth, *depths)
    return Best(count.width(totals, depth), depth, None)


def best_under_compute(
    laws: Laws, per_token: Count, compute: Array | float, *, depths: tuple[float, float] | None = None
) -> Best:
    """The best shape and number of tokens with ``per_token`` · tokens = ``compute``.

    Raises
    ------
    UsageError
        If the law has no token term: more tokens would then be worth nothing.
    """
    if "tokens" not in laws.form.scales:
        raise UsageError(
            "the law has no tokens term: compute cannot be shared between model and data.",
            "Give tokens, or a budget of params.",
        )

    def equations(u: Array, *, free_depth: bool = True) -> Array:
        width = laws.offset("width") + np.exp(u[:, 0])
        depth = laws.offset("depth") + np.exp(u[:, 1])
        tokens = compute / per_token(width, depth)
        s_width, s_depth = per_token.slopes(width, depth)
        gain = laws.log_steepness("width", u[:, 0]) - np.log(s_width)
        by_depth = laws.log_steepness("depth", u[:, 1]) - np.log(s_depth)
        by_tokens = laws.log_steepness("tokens", _log(tokens - laws.offset("tokens")))
        pair = [gain - by_tokens, gain - by_depth]
        return np.stack(pair[: 2 if free_depth else 1], 1)

    size = np.broadcast_to(np.log(np.asarray(compute, float)), (len(laws.points),))
    start = np.stack([size / 7, size / 14], 1)
    u = _newton(equations, start)
    width, depth = laws.offset("width") + np.exp(u[:, 0]), laws.offset("depth") + np.exp(u[:, 1])
    if depths is not None:
        held = np.clip(depth, *depths)
        fixed = _log(held - laws.offset("depth"))
        again = _newton(lambda v: equations(np.stack([v[:, 0], fixed], 1), free_depth=False), u[:, :1].copy())
        width = np.where(held == depth, width, laws.offset("width") + np.exp(again[:, 0]))
        depth = held
    return Best(width, depth, compute / per_token(width, depth))


def best_on_ray(laws: Laws, count: Count, total: float, ray: Dial, *, shared: bool) -> Best:
    """The size along a line in (width, depth) with ``count`` (× tokens if shared) = ``total``."""
    size = len(laws.points)
    sign = ray.slope if ray.one == "width" else 1.0 / ray.slope  # d ln depth / d ln width

    def shape(u: Array) -> tuple[Array, Array]:
        if ray.one == "width":
            return np.exp(u), ray.partner(np.exp(u))
        depth = np.exp((u - ray.intercept) / ray.slope)
        return np.exp(u), depth

    def by_count(u: Array) -> Array:
        width, depth = shape(u[:, 0])
        value: Array = np.log(count(width, depth)) - np.log(total)
        return value[:, None]

    def by_gain(u: Array) -> Array:
        width, depth = shape(u[:, 0])
        s_width, s_depth = count.slopes(width, depth)
        tokens = total / count(width, depth)
        gain = np.logaddexp(
            laws.log_steepness("width", _log(width - laws.offset("width"))),
            laws.log_steepness("depth", _log(depth - laws.offset("depth"))) + np.log(sign),
        )
        by_tokens = laws.log_steepness("tokens", _log(tokens - laws.offset("tokens")))
        value: Array = gain - np.log(s_width + sign * s_depth) - by_tokens
        return value[:, None]

    u = _newton(by_gain if shared else by_count, np.full((size, 1), np.log(total) / (7 if shared else 3)))
    width, depth = shape(u[:, 0])
    return Best(width, depth, total / count(width, depth) if shared else None)


def growth(laws: Laws) -> tuple[Array, Array]:
    """Prefactor and exponent of the best depth as a power of the width, (laws,) each.

    Exact for counts ∝ m²ℓ and scales without offset. Liu et al. 2026 (arXiv 2602.05970) draw the
    consequence for exponents near 1.
    """
    log_cm, alpha_m = laws.coefficient("width")
    log_cl, alpha_l = laws.coefficient("depth")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_factor = np.log(2 * alpha_l) + log_cl - np.log(alpha_m) - log_cm
        return np.exp(log_factor / alpha_l), alpha_m / alpha_l


def model_exponent(laws: Laws) -> Array:
    """α_m α_ℓ / (α_m + 2 α_ℓ), (laws,): how fast the model terms fall with N at the best shape."""
    alpha_m, alpha_l = laws.coefficient("width")[1], laws.coefficient("depth")[1]
    exponent: Array = alpha_m * alpha_l / (alpha_m + 2 * alpha_l)
    return exponent


def _log(x: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(x))


def _newton(equations: Callable[[Array], Array], u: Array) -> Array:
    """Solve ``equations(u) = 0`` for every row of ``u`` (laws, unknowns); NaN where it does not converge."""
    n = u.shape[1]
    step_size = 1e-5
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for _ in range(MAX_ITERATIONS):
            value = equations(u)
            jacobian = np.empty((len(u), n, n))
            for k in range(n):
                moved = u.copy()
                moved[:, k] += step_size
                back = u.copy()
                back[:, k] -= step_size
                jacobian[:, :, k] = (equations(moved) - equations(back)) / (2 * step_size)
            bad: NDArray[np.bool_] = ~np.isfinite(value.sum(1) + jacobian.sum((1, 2)))
            bad |= np.abs(np.linalg.det(np.where(bad[:, None, None], np.eye(n), jacobian))) < 1e-12
            jacobian[bad], value[bad] = np.eye(n), 0.0
            u[bad] = np.nan
            step = -np.linalg.solve(jacobian, value[:, :, None])[:, :, 0]
            u = u + np.clip(step, -8.0, 8.0)
            u[np.abs(u).max(1) > LIMIT] = np.nan
            if not np.any(np.abs(step) > TOLERANCE):
                break
        else:
            u[np.abs(step).max(1) > 1e-6] = np.nan
    return u
