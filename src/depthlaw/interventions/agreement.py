"""Do the criteria name the same blocks? Rank correlations between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depthlaw.interventions.criteria import CriteriaSums
from depthlaw.interventions.plan import Plan

LEAST_PLACES = 5
"""Places below which ranks agree or not by chance: of four, one order in 24 is any order."""


@dataclass(frozen=True)
class Agreement:
    """Spearman's rank correlation of every two criteria.

    Attributes
    ----------
    names
        Of the criteria.
    correlation
        (criteria, criteria) float64; NaN where one is the same everywhere or not known, and everywhere for
        fewer than `LEAST_PLACES` places or a text that is too little.
    places
        Blocks or windows they rest on.
    """

    names: tuple[str, ...]
    correlation: NDArray[np.float64]
    places: int


def windows(
    plans: Sequence[Plan],
    depth: int,
    size: int,
    measured: Mapping[str, NDArray[np.float64]],
    criteria: CriteriaSums,
) -> Mapping[str, NDArray[np.float64]]:
    """Put what was measured beside the criteria, window by window of ``size`` neighbouring blocks.

    Parameters
    ----------
    depth
        Blocks of the network.
    measured
        (plans,) costs by name.

    Returns
    -------
    Mapping
        (windows,) values by name; the measured ones first, where every window was left out by some plan.
    """
    found = {
        plan.first: place
        for place, plan in enumerate(plans)
        if plan.kind == "skip" and plan.size == size and plan.first is not None
    }
    known = criteria.window(size)
    if len(found) != depth - size + 1:
        return known
    places = [found[first] for first in range(depth - size + 1)]
    return {**{name: values[places] for name, values in measured.items()}, **known}


def rank_agreement(criteria: Mapping[str, NDArray[np.float64]], *, known: bool = True) -> Agreement:
    """Correlate ranks; ties share their mean rank.

    Parameters
    ----------
    criteria
        (places,) values by name; higher means that more is lost.
    known
        Whether the values rest on enough to be ranked.
    """
    names = tuple(criteria)
    ranks = np.stack([mean_ranks(np.asarray(criteria[name], dtype=np.float64)) for name in names])
    with np.errstate(invalid="ignore", divide="ignore"):
        enough = known and ranks.shape[1] >= LEAST_PLACES
        correlation = np.corrcoef(ranks) if enough else np.full((len(names),) * 2, np.nan)
    return Agreement(names, np.atleast_2d(correlation), ranks.shape[1])


def mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank from 1, the mean rank for ties; NaN everywhere when a value is not finite."""
    if not np.isfinite(values).all():
        return np.full(len(values), np.nan)
    ordered = np.sort(values)
    below, upto = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    ranks: NDArray[np.float64] = (below + upto + 1) / 2
    return ranks
