"""What layers have to do with each other, gathered in the pass beside the summary.

Covariance of the angle vectors and block influence take every token. CKA and angular distances take some of
every batch, the sample for trajectories some of all; both are chosen by a hash of document and position.

Relations are gathered twice, of all tokens and without first tokens: these are attention sinks in most
models, with states so long that a few of them decide CKA, which weighs states by their length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from depthlaw.numerics.streaming import Covariance, Mergeable, Moments
from depthlaw.probe.sample import TokenSample, priority
from depthlaw.probe.seen import Seen
from depthlaw.tensors.criteria import Cka, CkaSums, angular_distance, block_influence

SAMPLE = 20_000
"""Tokens kept for trajectories: enough for a cluster of 0.4 % to hold 80."""

CKA_TOKENS = (64, 256)
"""Fewest and most tokens of one batch that are compared across all pairs of layers; between them one in 16,
so that it costs a hundredth of the pass."""

_FEWEST = 32

Group = Literal["all", "rest"]
"""All tokens that count, or those that are not the first of their document."""
GROUPS: tuple[Group, ...] = ("all", "rest")


@dataclass(frozen=True)
class Relations:
    """How layers stand to each other.

    Attributes
    ----------
    influence
        (layers,) mean of 1 − cos θ(h_l, h_{l+1}): block influence.
    cka
        Similarity of every pair of states h_0 … h_depth; ``None`` when batches were too small for it.
    distance
        (states, states) mean angle between the states at every two depths, in half turns; ``None`` as above.
    n_influence, n_cka, n_distance
        Tokens behind each.
    """

    influence: NDArray[np.float64]
    cka: Cka | None
    distance: NDArray[np.float64] | None
    n_influence: int
    n_cka: int
    n_distance: int


class Gathered:
    """Observer of relations between layers; see `depthlaw.probe.seen.Observer`."""

    name = "gathered"

    def __init__(self) -> None:
        self._known: dict[str, Mergeable] = {}

    def observe(self, seen: Seen) -> None:
        """Take one batch into account."""
        theta = seen.columns["theta_state"]
        self._add("covariance", Covariance.of(theta))
        self._add("sample", TokenSample.of(seen).cut(SAMPLE))
        influence = block_influence(torch.from_numpy(theta.astype(np.float64))).numpy()
        self._add("influence", Moments.of(influence))
        self._add("influence_rest", Moments.of(influence, ~seen.is_first))
        good = np.asarray(np.isfinite(seen.columns["norm_state"]).all(axis=1))
        chosen = _some(seen, good)
        if len(chosen):
            states = _at(seen.states, chosen)
            self._add("cka", CkaSums.of(states))
            distance = angular_distance(states).flatten(0, 1).T.numpy()
            self._add("distance", Moments.of(distance))
            self._add("distance_rest", Moments.of(distance, ~seen.is_first[chosen]))
        rest = _some(seen, good & ~seen.is_first)
        if len(rest):
            self._add("cka_rest", CkaSums.of(_at(seen.states, rest)))

    def _add(self, name: str, piece: Any) -> None:
        whole = self._known[name].merge(piece) if name in self._known else piece
        self._known[name] = whole.cut(SAMPLE) if isinstance(whole, TokenSample) else whole

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that was gathered."""
        return {
            f"{name}/{field}": array
            for name, piece in self._known.items()
            for field, array in piece.arrays().items()
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned."""
        fields: dict[str, dict[str, NDArray[Any]]] = {}
        for path, array in arrays.items():
            name, _, field = path.partition("/")
            fields.setdefault(name, {})[field] = array
        self._known = {name: _KINDS[name].from_arrays(found) for name, found in fields.items()}

    @property
    def covariance(self) -> Covariance | None:
        """Of the vectors of theta_state over layers, all tokens; ``None`` before the first."""
        known = self._known.get("covariance")
        return known if isinstance(known, Covariance) else None

    def relations(self, tokens: Group = "all") -> Relations:
        """How layers stand to each other, of all tokens or without first tokens (``rest``)."""
        ending = "" if tokens == "all" else "_rest"
        influence, distance = (self._known.get(f"{name}{ending}") for name in ("influence", "distance"))
        sums = self._known.get(f"cka{ending}")
        cka = sums.cka() if isinstance(sums, CkaSums) else None
        square = None
        if isinstance(distance, Moments):
            states = int(np.sqrt(len(distance.mean)))
            square = distance.mean.reshape(states, states)
        return Relations(
            influence=influence.mean if isinstance(influence, Moments) else np.empty(0),
            cka=cka,
            distance=square,
            n_influence=_count(influence),
            n_cka=0 if cka is None else cka.tokens,
            n_distance=_count(distance),
        )

    @property
    def sample(self) -> TokenSample | None:
        """Some tokens with their angle vectors, for clusters and examples."""
        known = self._known.get("sample")
        return known if isinstance(known, TokenSample) else None


def _some(seen: Seen, among: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Choose tokens to compare, the fewest of a batch or none at all.

    They come from many documents together: neighbours in a document are not independent.
    """
    good = np.flatnonzero(among)
    if len(good) < _FEWEST:
        return good[:0]
    order = np.argsort(priority(seen.document[good], seen.position[good]), kind="stable")
    return good[order[: min(max(len(good) // 16, CKA_TOKENS[0]), CKA_TOKENS[1])]]


def _at(states: Sequence[Tensor], rows: NDArray[np.int64]) -> list[Tensor]:
    chosen = torch.from_numpy(rows)
    return [state[chosen.to(state.device)] for state in states]


def _count(known: Mergeable | None) -> int:
    return int(known.count.max()) if isinstance(known, Moments) else 0


_KINDS: Mapping[str, type[Mergeable]] = {
    "covariance": Covariance,
    "sample": TokenSample,
    "influence": Moments,
    "influence_rest": Moments,
    "cka": CkaSums,
    "cka_rest": CkaSums,
    "distance": Moments,
    "distance_rest": Moments,
}
