"""What layers have to do with each other, gathered in the pass beside the summary.

Covariance of the angle vectors and block influence take every token. CKA and angular distances take some of
every batch, the sample for trajectories some of all; both are chosen by a hash of document and position.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

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


class Gathered:
    """Observer of relations between layers; see `depthlaw.probe.seen.Observer`."""

    name = "gathered"

    def __init__(self) -> None:
        self._known: dict[str, Mergeable] = {}

    def observe(self, seen: Seen) -> None:
        """Take one batch into account."""
        theta = seen.columns["theta_state"]
        self._add("covariance", Covariance.of(theta))
        influence = block_influence(torch.from_numpy(theta.astype(np.float64))).numpy()
        self._add("influence", Moments.of(influence))
        self._add("sample", TokenSample.of(seen).cut(SAMPLE))
        good = np.flatnonzero(np.isfinite(seen.columns["norm_state"]).all(axis=1))
        if len(good) < _FEWEST:
            return
        # Tokens of many documents together: neighbours in a document are not independent.
        order = np.argsort(priority(seen.document[good], seen.position[good]), kind="stable")
        chosen = torch.from_numpy(good[order[: min(max(len(good) // 16, CKA_TOKENS[0]), CKA_TOKENS[1])]])
        states = [state[chosen.to(state.device)] for state in seen.states]
        self._add("cka", CkaSums.of(states))
        distance = angular_distance(states).flatten(0, 1).T.numpy()
        self._add("distance", Moments.of(distance))

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

    @property
    def influence(self) -> NDArray[np.float64]:
        """(layers,) mean of 1 − cos θ(h_l, h_{l+1}), all tokens: block influence."""
        known = self._known.get("influence")
        return known.mean if isinstance(known, Moments) else np.empty(0)

    @property
    def cka(self) -> Cka | None:
        """Similarity of every pair of states h_0 … h_depth; ``None`` when batches were too small for it."""
        known = self._known.get("cka")
        return known.cka() if isinstance(known, CkaSums) else None

    @property
    def distance(self) -> NDArray[np.float64] | None:
        """(states, states) mean angle between the states at every two depths, in half turns."""
        known = self._known.get("distance")
        if not isinstance(known, Moments):
            return None
        states = int(np.sqrt(len(known.mean)))
        return known.mean.reshape(states, states)

    @property
    def sample(self) -> TokenSample | None:
        """Some tokens with their angle vectors, for clusters and examples."""
        known = self._known.get("sample")
        return known if isinstance(known, TokenSample) else None


_KINDS: Mapping[str, type[Mergeable]] = {
    "covariance": Covariance,
    "influence": Moments,
    "sample": TokenSample,
    "cka": CkaSums,
    "distance": Moments,
}
