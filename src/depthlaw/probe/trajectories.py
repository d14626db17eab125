"""Trajectories of tokens through the layers: principal components, two ideals, one cluster or two.

A token's trajectory is its vector of θ(h_l, h_{l+1}) over the layers (paper, Fig. 2). The components
are exact: they come from the covariance of all tokens, gathered in the pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depthlaw.errors import InputError, UsageError
from depthlaw.numerics.apart import Clusters, find_clusters
from depthlaw.numerics.mixture import Mixture
from depthlaw.numerics.streaming import Array, Covariance
from depthlaw.probe.examples import middles
from depthlaw.probe.principal import PAPER_MIDDLE, Principal, ideal_trajectories, principal_components
from depthlaw.probe.shares import Share, share_of

Mask = NDArray[np.bool_]

COMPONENTS = 4
"""Components in which clusters are looked for: first tokens may lie apart in the third only."""


@dataclass(frozen=True)
class Group:
    """Tokens of one cluster.

    Attributes
    ----------
    share
        Of all tokens, with an interval over documents.
    first
        Share of first tokens of documents among them; NaN when flags were not given.
    special
        Share of control tokens among them; NaN when flags were not given.
    mean
        (layers,) their mean trajectory, radians.
    middle
        Mean of it without the first and the last layer.
    """

    share: Share
    first: float
    special: float
    mean: Array
    middle: float


@dataclass(frozen=True)
class Half:
    """The same question put to half of the documents.

    Attributes
    ----------
    supported
        Whether that half supports a second cluster.
    share
        Share of its tokens in the cluster that stops early; NaN without a second cluster.
    """

    supported: bool
    share: float


@dataclass(frozen=True)
class Trajectories:
    """What the trajectories of tokens look like.

    Attributes
    ----------
    principal
        Principal components, of all tokens of the pass where their covariance was given.
    points
        (tokens, components) coordinates of the tokens, radians; NaN for tokens that were left out.
    stops, even
        (components,) the two ideal trajectories in the same coordinates.
    even_middle
        Radians in the middle of the even ideal.
    clusters
        One Gaussian against two, and every second cluster that lies apart.
    two
        Whether the data support a second cluster.
    early, late
        The cluster that turns least in the middle, and all other tokens; ``early`` is ``None`` when there is
        only one, which is ``late``.
    probability
        (tokens,) of belonging to ``early``; 0 without it, NaN for tokens that were left out.
    halves
        The same for every other document and for the rest.
    agreement
        Tokens that both halves call early, as a share of those that either does; NaN unless both support a
        second cluster.
    n_left_out
        Tokens with an angle that is not finite.
    statement
        All this in one sentence.
    """

    principal: Principal
    points: Array
    stops: Array
    even: Array
    even_middle: float
    clusters: Clusters
    two: bool
    early: Group | None
    late: Group
    probability: Array
    halves: tuple[Half, Half]
    agreement: float
    n_left_out: int
    statement: str


def trajectories(
    theta: ArrayLike,
    *,
    document: ArrayLike | None = None,
    is_first: ArrayLike | None = None,
    is_special: ArrayLike | None = None,
    covariance: Covariance | None = None,
    paper: bool = False,
    n_components: int = COMPONENTS,
) -> Trajectories:
    """Describe trajectories of tokens.

    Parameters
    ----------
    theta
        (tokens, layers) θ(h_l, h_{l+1}) in radians.
    document
        (tokens,) which document each is of, for intervals and halves; ``None`` takes every token for one.
    is_first, is_special
        (tokens,) flags; ``None`` when not known.
    covariance
        Of all tokens of the pass, when ``theta`` is a part of them; ``None`` to take it from ``theta``.
    paper
        Whether the even ideal turns 0.45 rad in the middle, as in the paper, instead of the model's mean.
    n_components
        Principal components in which clusters are looked for.

    Raises
    ------
    UsageError
        For fewer than three layers, which leave no middle, or flags of another length.
    InputError
        For fewer than two tokens.
    """
    table = np.asarray(theta, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 3:
        raise UsageError(f"trajectories need three layers at least, not an array of shape {table.shape}.")
    n, layers = table.shape
    for name, flags in (("document", document), ("is_first", is_first), ("is_special", is_special)):
        if flags is not None and np.shape(flags) != (n,):
            raise UsageError(f"{name} has shape {np.shape(flags)}, not ({n},) as there are tokens.")
    good = np.asarray(np.isfinite(table).all(axis=1))
    covariance = Covariance.of(table) if covariance is None else covariance
    principal = principal_components(covariance, n_components)
    kept = table[good]
    if len(kept) < 2:
        raise InputError(f"trajectories need two tokens with finite angles at least, not {len(kept)}.")
    documents = np.arange(n)[good] if document is None else np.asarray(document)[good]
    points = principal.project(kept)
    middle = PAPER_MIDDLE if paper else float(covariance.mean[1:-1].mean())
    stops, even = ideal_trajectories(layers, middle)

    clusters = find_clusters(points)
    early_mixture = _stopping(clusters, points, kept)
    probability = _early(early_mixture, points, kept)
    early = probability > 0.5
    two = bool(early.any()) and not early.all()
    if not two:
        probability, early = np.zeros(len(kept)), np.zeros(len(kept), dtype=bool)
    marks = [None if f is None else np.asarray(f, dtype=bool)[good] for f in (is_first, is_special)]
    second = _group(early, kept, documents, marks) if two else None
    rest = _group(~early, kept, documents, marks)
    halves, agreement = _halves(points, kept, documents)
    return Trajectories(
        principal=principal,
        points=_spread_out(points, good),
        stops=principal.project(stops),
        even=principal.project(even),
        even_middle=middle,
        clusters=clusters,
        two=two,
        early=second,
        late=rest,
        probability=_spread_out(probability, good),
        halves=halves,
        agreement=agreement,
        n_left_out=n - len(kept),
        statement=_statement(clusters, second, rest, halves, len(np.unique(documents)) > 1),
    )


def _early(mixture: Mixture | None, points: Array, theta: Array) -> Array:
    """Probability of the component that turns less in the middle, (tokens,)."""
    if mixture is None:
        return np.zeros(len(points))
    share = mixture.responsibilities(points)
    means = (share * middles(theta)[:, None]).sum(axis=0) / share.sum(axis=0)
    early: Array = share[:, int(means.argmin())]
    return early


def _stopping(clusters: Clusters, points: Array, theta: Array) -> Mixture | None:
    """Of all second clusters, the one that turns least in the middle; ``None`` when none is supported."""

    def turns(mixture: Mixture) -> float:
        early = _early(mixture, points, theta)
        return float(early @ middles(theta) / early.sum())

    return min(clusters.apart, key=turns, default=None)


def _group(
    member: Mask,
    theta: Array,
    document: NDArray[np.generic],
    flags: list[Mask | None],
) -> Group:
    mean = theta[member].mean(axis=0)
    first, special = (math.nan if f is None else float(f[member].mean()) for f in flags)
    return Group(share_of(member, document), first, special, mean, float(mean[1:-1].mean()))


def _halves(points: Array, theta: Array, document: NDArray[np.generic]) -> tuple[tuple[Half, Half], float]:
    """Ask each half of the documents alone, then let both judge all tokens."""
    odd = np.unique(document, return_inverse=True)[1] % 2 == 1
    found = []
    called = []
    for part in (~odd, odd):
        clusters = find_clusters(points[part])
        mixture = _stopping(clusters, points[part], theta[part])
        early = _early(mixture, points, theta) > 0.5
        supported = mixture is not None and bool(early[part].any())
        found.append(Half(supported, float(early[part].mean()) if supported else math.nan))
        called.append(early)
    either = (called[0] | called[1]).sum()
    both = found[0].supported and found[1].supported and either > 0
    agreement = float((called[0] & called[1]).sum() / either) if both else math.nan
    return (found[0], found[1]), agreement


def _spread_out(values: Array, good: Mask) -> Array:
    """Put values of the kept tokens back to their places among all."""
    whole = np.full((len(good), *values.shape[1:]), np.nan)
    whole[good] = values
    return whole


def _statement(
    clusters: Clusters, early: Group | None, late: Group, halves: tuple[Half, Half], several: bool
) -> str:
    if early is None:
        return f"The data do not support a second cluster: {clusters.reason}."
    share = early.share
    ends = "no interval" if math.isnan(share.low) else f"{share.low:.2%} to {share.high:.2%}"
    first = "" if math.isnan(early.first) else f", {early.first:.0%} of them first tokens"
    shown = ""
    if several:
        also = sum(half.supported for half in halves)
        shown = f"; {('neither half', 'one half', 'each half')[also]} of the documents shows it alone"
    more = len(clusters.apart) - 1
    others = f" ({more} more group{'s' * (more > 1)} of tokens lie{'s' * (more == 1)} apart)" if more else ""
    return (
        f"Two clusters: {share.value:.2%} of the tokens ({ends}{first}) turn "
        f"{early.middle:.3f} rad a block in the middle, the others {late.middle:.3f}{others}{shown}."
    )
