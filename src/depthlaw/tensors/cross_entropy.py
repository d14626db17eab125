"""What a layer predicts: cross-entropy, entropy and divergence from the final prediction, chunk by chunk.

The vocabulary is large, so logits of all tokens of a batch never exist at once: tokens are read in chunks,
each layer against the final distribution of the same chunk. Arithmetic is float32 or better whatever the
dtype of the logits; values are in nats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from depthlaw.tensors.geometry import working

CHUNK = 256
"""Tokens read at once: large enough for a fast product with the head, 50 MB for a vocabulary of 50,000."""

_ROWS = 16
"""Tokens multiplied at once: their products stay in the cache, and torch adds them up pairwise, where one dot
product over a vocabulary of 50,000 is off by 4e-5 in float32."""


@dataclass(frozen=True)
class Prediction:
    """The distribution over the next token, for some tokens.

    Attributes
    ----------
    shifted
        (tokens, vocabulary) logits less their maximum, float32 or better.
    weights
        (tokens, vocabulary) exp of ``shifted``.
    total
        (tokens,) sum of ``weights``.
    """

    shifted: Tensor
    weights: Tensor
    total: Tensor

    def cross_entropy(self, targets: Tensor) -> Tensor:
        """(tokens,) −ln p(target), for targets (tokens,) int64."""
        return self.total.log() - self.shifted.gather(-1, targets.unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """(tokens,) entropy of the distribution."""
        return self._entropy

    def divergence_of(self, other: Prediction) -> Tensor:
        """(tokens,) KL(self ‖ other); exactly 0 for the same logits."""
        return other.total.log() - self._mean_of(other.shifted) - self._entropy

    @cached_property
    def _entropy(self) -> Tensor:
        # Kept: one prediction is held against many others.
        return self.total.log() - self._mean_of(self.shifted)

    def _mean_of(self, values: Tensor) -> Tensor:
        products = values.new_empty(min(_ROWS, len(values)), values.shape[-1])
        parts = zip(torch.split(self.weights, _ROWS), torch.split(values, _ROWS), strict=True)
        sums = [torch.mul(one, other, out=products[: len(one)]).sum(-1) for one, other in parts]
        return torch.cat(sums) / self.total


@dataclass(frozen=True)
class Lens:
    """What each layer predicts; the last row is the model's own prediction.

    Attributes
    ----------
    cross_entropy
        (readings, tokens) −ln p_l(next token), nats.
    entropy
        (readings, tokens) entropy of p_l, nats.
    divergence
        (readings, tokens) KL(p_final ‖ p_l), nats; 0 in the last row.
    """

    cross_entropy: Tensor
    entropy: Tensor
    divergence: Tensor


def predict(logits: Tensor) -> Prediction:
    """Turn logits (tokens, vocabulary), any floating dtype, into a `Prediction`."""
    logits = working(logits)
    shifted = logits - logits.amax(-1, keepdim=True)
    weights = shifted.exp()
    return Prediction(shifted, weights, weights.sum(-1))


def cross_entropy(
    states: Tensor, targets: Tensor, finish: Callable[[Tensor], Tensor], *, chunk: int = CHUNK
) -> Tensor:
    """Next-token cross-entropy of raw last states, in chunks.

    Parameters
    ----------
    states
        (tokens, width) raw last states.
    targets
        (tokens,) int64, the next tokens.
    finish
        Raw last states (some tokens, width) → logits (some tokens, vocabulary).

    Returns
    -------
    Tensor
        (tokens,) nats, float32 or better.
    """
    parts = [
        predict(finish(states[start : start + chunk])).cross_entropy(targets[start : start + chunk])
        for start in range(0, len(states), chunk)
    ]
    return torch.cat(parts) if parts else working(states).new_empty(0)


def read_layers(
    states: Sequence[Tensor],
    targets: Tensor,
    finish: Callable[[Tensor], Tensor],
    *,
    chunk: int = CHUNK,
) -> Lens:
    """Read the prediction at several layers against the final one.

    Parameters
    ----------
    states
        One (tokens, width) tensor a reading: states to be finished as if they were the raw last one. The last
        must be the raw last states themselves.
    targets
        (tokens,) int64, the next tokens.
    finish
        As in `cross_entropy`.
    """
    final = working(states[-1])
    parts = torch.empty((3, len(states), len(targets)), dtype=final.dtype, device=final.device)
    for start in range(0, len(targets), chunk):
        rows = slice(start, start + chunk)
        last = predict(finish(states[-1][rows]))
        for layer, state in enumerate(states):
            reading = last if layer == len(states) - 1 else predict(finish(state[rows]))
            parts[0, layer, rows] = reading.cross_entropy(targets[rows])
            parts[1, layer, rows] = reading.entropy()
            parts[2, layer, rows] = last.divergence_of(reading)
    return Lens(*parts)
