"""Runs that could be trained: the candidates of a design, and the plain grid it is held against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from depthlaw.errors import UsageError
from depthlaw.laws.result import Fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.counting import NOMINAL, TRAINING_PASSES
from depthlaw.planning.design_config import DesignConfig

WIDTHS, DEPTHS, TOKENS = 6, 8, 5
WIDTH_STEP = 64


def candidate_grid(fit: Fit, config: DesignConfig) -> dict[str, Array]:
    """All candidates (candidates,) by scale.

    Raises
    ------
    UsageError
        If the law is not one of width and depth with tokens, or nothing fits the budget.
    """
    if set(fit.form.scales) != {"width", "depth", "tokens"}:
        raise UsageError(
            f"a design needs a law of width, depth and tokens, not {fit.form}.",
            "Their cost is 6 N D with N = 12 m²ℓ.",
        )
    widths = _widths(fit, config, WIDTHS)
    depths = np.array(config.depths, float)
    if not len(depths):
        offset = fit.form.offsets.get("depth", 0.0)
        low = max(fit.data["depth"].min() / 2, offset + 1.0)
        depths = np.unique(np.round(np.geomspace(low, 1.5 * fit.data["depth"].max(), DEPTHS)))
    tokens = np.array(config.tokens_grid, float)
    if not len(tokens):
        tokens = np.geomspace(fit.data["tokens"].min(), fit.data["tokens"].max(), TOKENS)
    grid = np.meshgrid(widths, depths, tokens, indexing="ij")
    return dict(zip(("width", "depth", "tokens"), (g.ravel() for g in grid), strict=True))


def plain_grid(fit: Fit, config: DesignConfig) -> Mapping[str, Array]:
    """Three widths × three depths across the data on equal tokens, together costing the budget."""
    widths = _widths(fit, config, 3)
    depth = np.array(config.depths, float) if config.depths else fit.data["depth"]
    depths = np.unique(np.round(np.geomspace(float(depth.min()), float(depth.max()), 3)))
    width, depth = (g.ravel() for g in np.meshgrid(widths, depths, indexing="ij"))
    tokens = config.budget / float(TRAINING_PASSES * NOMINAL(width, depth).sum())
    return {"width": width, "depth": depth, "tokens": np.full(len(width), tokens)}


def _widths(fit: Fit, config: DesignConfig, count: int) -> Array:
    if config.widths:
        given = np.array(config.widths, float)
        return given if count != 3 else np.unique(np.geomspace(given.min(), given.max(), 3))
    raw = np.geomspace(fit.data["width"].min(), fit.data["width"].max(), count)
    return np.unique(np.maximum(np.round(raw / WIDTH_STEP), 1) * WIDTH_STEP)
