"""Tokens that stop early, counted from histograms: those that hardly turn in the middle of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from depthlaw.numerics.histogram import Histogram


@dataclass(frozen=True)
class Stopping:
    """How many tokens stop early.

    Attributes
    ----------
    threshold
        Radians: half of the mean over tokens of the mean angle in the middle.
    share, share_of_first
        Of all tokens, and of the first tokens of documents, those below it; NaN without a middle.
    first_among
        Share of first tokens among the early stoppers; NaN when there are none.
    """

    threshold: float
    share: float
    share_of_first: float
    first_among: float


NO_MIDDLE = Stopping(math.nan, math.nan, math.nan, math.nan)


def stopping(first: Histogram, rest: Histogram, mean: float) -> Stopping:
    """Count from the histograms of each token's mean angle in the middle.

    Parameters
    ----------
    first, rest
        Of first tokens and of all others, one column each.
    mean
        Mean over all tokens, radians.
    """
    threshold = mean / 2
    below_first, below_rest = _below(first, threshold), _below(rest, threshold)
    n_first, n_rest = int(first.count[0]), int(rest.count[0])
    below = below_first + below_rest
    return Stopping(
        threshold,
        below / (n_first + n_rest) if n_first + n_rest else math.nan,
        below_first / n_first if n_first else math.nan,
        below_first / below if below else math.nan,
    )


def _below(histogram: Histogram, threshold: float) -> float:
    """How many values lie below ``threshold``, interpolated inside its bin."""
    counts = histogram.counts[0]
    edges = histogram.edges
    place = int(np.searchsorted(edges, threshold, side="right"))
    whole = float(counts[:place].sum())
    if place == 0 or place == len(edges):
        return whole
    low, high = float(edges[place - 1]), float(edges[place])
    return whole + float(counts[place]) * (threshold - low) / (high - low)
