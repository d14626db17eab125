"""What one looks at instead of ablating: block influence, angular distance and CKA, on the same tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from depthlaw.numerics.streaming import Array, Mergeable
from depthlaw.tensors.criteria import SMALLEST_BATCH, CkaSums, angular_distance, block_influence
from depthlaw.tensors.geometry import angle

CKA_TOKENS = 256
"""Tokens compared with each other at once; memory goes with layers × tokens²."""
CHUNK = 512


@dataclass(frozen=True)
class CriteriaSums(Mergeable):
    """Sums over tokens, to be merged over batches.

    Attributes
    ----------
    tokens
        () float64, those with finite states.
    nonfinite
        (states + 1,) float64, tokens left out, by the first state that is not finite; last those with finite
        states and a prediction that is not.
    influence
        (depth,) Σ 1 − cos θ(h_l, h_{l+1}).
    angular
        (states, states) Σ θ(h_l, h_k)/π.
    hsic, batches, cka_tokens
        Of `CkaSums`.
    """

    tokens: Array
    nonfinite: Array
    influence: Array
    angular: Array
    hsic: Array
    batches: Array
    cka_tokens: Array

    @classmethod
    def of(cls, states: Sequence[Tensor], nonfinite: Array | None = None) -> CriteriaSums:
        """Gather the tokens of a batch; they should be in no order.

        Parameters
        ----------
        states
            h_0 … h_depth, (tokens, width) each, finite.
        nonfinite
            How many were left out, see the class; ``None`` for none.
        """
        n = len(states[0])
        influence = [block_influence(angle(a, b)).double().sum() for a, b in pairwise(states)]
        angular = torch.zeros(len(states), len(states), dtype=torch.float64)
        for start in range(0, n, CHUNK):
            angular += angular_distance([state[start : start + CHUNK] for state in states]).sum(-1)
        cka = CkaSums.empty(len(states))
        for start in range(0, n, CKA_TOKENS):
            piece = [state[start : start + CKA_TOKENS] for state in states]
            # Batches should be of one size; a much smaller one would count as much.
            if start == 0 or len(piece[0]) == CKA_TOKENS:
                cka = cka.merge(CkaSums.of(piece)) if len(piece[0]) >= SMALLEST_BATCH else cka
        return cls(
            np.asarray(float(n)),
            np.zeros(len(states) + 1) if nonfinite is None else nonfinite,
            torch.stack(influence).cpu().numpy(),
            angular.numpy(),
            cka.hsic,
            cka.batches,
            cka.tokens,
        )

    def merge(self, other: CriteriaSums) -> CriteriaSums:
        """Join two disjoint pieces of data."""
        return CriteriaSums(*(np.asarray(a + b) for a, b in zip(_values(self), _values(other), strict=True)))

    def window(self, size: int) -> Mapping[str, NDArray[np.float64]]:
        """Each criterion for every ``size`` neighbouring blocks, (windows,): higher means more is done there.

        Block influence is summed over the blocks; angular distance (half turns) and 1 − CKA compare the
        states before and behind them.
        """
        mean = self.angular / self.tokens
        cka = CkaSums(self.hsic, self.batches, self.cka_tokens).cka().value
        influence = np.convolve(self.influence / self.tokens, np.ones(size), mode="valid")
        return {
            "block_influence": influence,
            "angular_distance": np.diagonal(mean, size).copy(),
            "one_minus_cka": 1 - np.diagonal(cka, size),
        }


def shuffled(states: Sequence[Tensor], good: NDArray[np.bool_], seed: int) -> list[Tensor]:
    """Some of the tokens in a random order, one for all layers: neighbours in a text are alike."""
    order = torch.from_numpy(np.random.default_rng(seed).permutation(np.flatnonzero(good)))
    return [state[order.to(state.device)] for state in states]


def first_nonfinite(states: Sequence[Tensor], prediction: Tensor) -> NDArray[np.int64]:
    """Find where tokens cease to be finite: in half precision nothing above 65,504 is.

    Parameters
    ----------
    states
        h_0 … h_depth, (tokens, width) each.
    prediction
        (tokens,) what was read of the last ones.

    Returns
    -------
    ndarray
        (tokens,) number of the first state that is not finite, the number of states for the prediction, one
        more where all is finite.
    """
    finite = [torch.isfinite(state).all(-1).cpu() for state in states]
    table = torch.stack([*finite, torch.isfinite(prediction).cpu(), torch.zeros_like(finite[0])])
    first: NDArray[np.int64] = np.argmin(table.numpy(), axis=0)
    return first


def _values(sums: CriteriaSums) -> list[Array]:
    return [getattr(sums, name) for name in CriteriaSums.__dataclass_fields__]
