"""How alike layers are: linear CKA, block influence, angular distance. Input is states, output is float64.

Tokens of one document are not independent, which every formula here supposes: give tokens of many documents
together, not one document after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from depthlaw.numerics.streaming import Mergeable
from depthlaw.tensors.geometry import unit, working

SMALLEST_BATCH = 4
"""Tokens that the unbiased estimator needs at least."""


@dataclass(frozen=True)
class Cka:
    """Similarity of every pair of layers.

    Attributes
    ----------
    value
        (states, states) float64, symmetric, 1 on the diagonal; around 0 for independent layers, so slightly
        negative values are in order. NaN where ``defined`` is not set.
    defined
        (states, states) bool; unset for pairs with a layer whose states do not vary, or too little for their
        number to show it.
    batches, tokens
        What it rests on.
    """

    value: NDArray[np.float64]
    defined: NDArray[np.bool_]
    batches: int
    tokens: int


@dataclass(frozen=True)
class CkaSums(Mergeable):
    """Linear CKA from minibatches (Nguyen, Raghu and Kornblith 2021, after Song et al. 2012).

    Unbiased, unlike the usual estimator, which calls independent data alike when tokens are fewer than
    dimensions. Batches should be of one size: each counts once.

    Attributes
    ----------
    hsic
        (states, states) float64, HSIC₁ summed over batches.
    batches, tokens
        () float64, whole numbers.
    """

    hsic: NDArray[np.float64]
    batches: NDArray[np.float64]
    tokens: NDArray[np.float64]

    @classmethod
    def of(cls, states: Sequence[Tensor]) -> CkaSums:
        """Gather one batch of tokens.

        Parameters
        ----------
        states
            A tensor (tokens, width) for every layer, any floating dtype, width may differ; 128 to 512 tokens
            are a good number, memory goes with layers × tokens².

        Raises
        ------
        ValueError
            Fewer than 4 tokens, or a state that is not finite.
        """
        n = len(states[0])
        one = np.asarray(1.0)
        return cls(unbiased_hsic(states), one, np.asarray(float(n)))

    @classmethod
    def empty(cls, states: int) -> CkaSums:
        """Nothing gathered yet."""
        zero = np.asarray(0.0)
        return cls(np.zeros((states, states)), zero, zero)

    def merge(self, other: CkaSums) -> CkaSums:
        """Join two disjoint pieces of data."""
        return CkaSums(
            self.hsic + other.hsic,
            np.asarray(self.batches + other.batches),
            np.asarray(self.tokens + other.tokens),
        )

    def cka(self) -> Cka:
        """The similarity that the batches so far show."""
        own = np.diag(self.hsic)
        # Unbiased means that it may come out below zero: no spread, or none that the batches can show.
        good = own > 0
        defined = np.logical_and.outer(good, good)
        root = np.sqrt(np.where(good, own, 1.0))
        value = np.where(defined, self.hsic / np.outer(root, root), np.nan)
        value[np.diag_indices_from(value)] = np.where(good, 1.0, np.nan)
        return Cka(value, defined, int(self.batches), int(self.tokens))


def unbiased_hsic(states: Sequence[Tensor]) -> NDArray[np.float64]:
    """HSIC₁ with linear kernels for every pair of layers.

    ``[tr(K̃L̃) + (1ᵀK̃1)(1ᵀL̃1)/((n−1)(n−2)) − 2/(n−2)·1ᵀK̃L̃1] / (n(n−3))`` where K̃ is K = XXᵀ without its
    diagonal. It does not see a constant added to all states, so they are centred first for the digits.

    Parameters
    ----------
    states
        A tensor (tokens, width) for every layer, any floating dtype.

    Returns
    -------
    ndarray
        (states, states) float64, in fourth powers of the states' unit.

    Raises
    ------
    ValueError
        Fewer than 4 tokens, or a state that is not finite.
    """
    n = len(states[0])
    if n < SMALLEST_BATCH:
        raise ValueError(f"unbiased CKA needs at least {SMALLEST_BATCH} tokens in a batch, not {n}")
    kernels = torch.stack([_kernel(state) for state in states])  # (states, n, n)
    rows = kernels.sum(-1)  # (states, n)
    flat, total = kernels.flatten(1), rows.sum(-1)
    hsic = flat @ flat.T + torch.outer(total, total) / ((n - 1) * (n - 2)) - rows @ rows.T * (2 / (n - 2))
    result: NDArray[np.float64] = (hsic / (n * (n - 3))).numpy()
    return result


def _kernel(state: Tensor) -> Tensor:
    """XXᵀ without its diagonal, (n, n) float64 on the CPU, of centred states."""
    x = working(state)
    x = x - x.mean(0)
    largest = x.abs().amax()
    if not bool(torch.isfinite(largest)):
        raise ValueError("CKA of states that are not finite; leave these tokens out")
    # Squares of states of 1e20 do not fit into float32; the product of a batch is left to the device.
    scale = float(largest) or 1.0
    x = x / scale
    kernel = (x @ x.T).to("cpu", torch.float64) * scale**2
    return kernel.fill_diagonal_(0.0)


def block_influence(theta_state: Tensor) -> Tensor:
    """How much a block turns a state: 1 − cos θ(h_l, h_{l+1}) (Men et al. 2024, ShortGPT), to be averaged.

    Parameters
    ----------
    theta_state
        Angles in radians, any shape.

    Returns
    -------
    Tensor
        The same shape, in [0, 2]; as 2·sin²(θ/2), which keeps the digits of small angles.
    """
    return 2 * torch.sin(theta_state / 2).square()


def angular_distance(states: Sequence[Tensor]) -> Tensor:
    """Angle between the states at every two depths, in half turns (Gromov et al. 2024), to be averaged.

    The entry ``[l, l + n]`` is what leaving out the n blocks from l on would have to bridge.

    Parameters
    ----------
    states
        A tensor (tokens, width) for every layer, any floating dtype.

    Returns
    -------
    Tensor
        (states, states, tokens) float64 on the CPU, in [0, 1], symmetric, 0 on the diagonal. From cosines in
        float64: off by 1e-8 at most. A zero state counts as orthogonal to all others.
    """
    # The second normalisation takes float32 rounding out of the lengths.
    units = torch.stack([unit(unit(state)[0].to("cpu", torch.float64))[0] for state in states], dim=1)
    cosines = units @ units.transpose(1, 2)  # (tokens, states, states)
    angles = cosines.clamp(-1, 1).acos() / math.pi
    angles.diagonal(dim1=1, dim2=2).zero_()
    return angles.permute(1, 2, 0)
