"""The laboratory's network: residual blocks f_l(v) = B_l ReLU²(A_l RMSNorm(v) + b_l) on a narrow stream.

This file is the one place where its mathematics is written down in a form that autograd differentiates; the
stacked engine and the compiled kernel are tested against it in float64.

A block with several stages has one such MLP per stage, put together by a Runge–Kutta tableau (see
`depthlaw.numerics.runge_kutta`). Source: paper section on the teacher–student model and App. C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from depthlaw.numerics.runge_kutta import RESIDUAL, Tableau

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Weights:
    """Weights of one network; all of one dtype on one device.

    Attributes
    ----------
    A
        (blocks, stages, hidden, width).
    b
        (blocks, stages, hidden).
    B
        (blocks, stages, width, hidden).
    head
        (classes, width), or ``None`` for a network that ends in its normalised state.
    tableau
        How the stages of a block are put together.
    """

    A: Tensor
    b: Tensor
    B: Tensor
    head: Tensor | None = None
    tableau: Tableau = RESIDUAL

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return self.A.shape[0]


def rms_norm(v: Tensor) -> Tensor:
    """Scale the last axis to mean square 1: v / sqrt(mean v² + eps), eps the machine epsilon of the dtype."""
    return v * torch.rsqrt(v.square().mean(-1, keepdim=True) + torch.finfo(v.dtype).eps)


def mlp(v: Tensor, A: Tensor, b: Tensor, B: Tensor) -> Tensor:
    """f(v) = B ReLU²(A RMSNorm(v) + b).

    Parameters
    ----------
    v
        (…, width).
    A, b, B
        (hidden, width), (hidden,), (width, hidden).
    """
    return torch.relu(rms_norm(v) @ A.T + b).square() @ B.T


def block(h: Tensor, A: Tensor, b: Tensor, B: Tensor, tableau: Tableau) -> Tensor:
    """One block: h (…, width) → h + Σ_i outer_i k_i.

    Parameters
    ----------
    A, b, B
        Of one block: (stages, hidden, width), (stages, hidden), (stages, width, hidden).
    """
    stages: list[Tensor] = []
    for i, row in enumerate(tableau.inner):
        state = h + sum(a * k for a, k in zip(row, stages, strict=True) if a != 0)
        stages.append(mlp(state, A[i], b[i], B[i]))
    return h + sum(w * k for w, k in zip(tableau.outer, stages, strict=True) if w != 0)


def states(x: Tensor, weights: Weights) -> Iterator[Tensor]:
    """Yield the residual stream h_0 … h_ℓ (each (…, width)); h_0 is the normalised input x (…, width)."""
    h = rms_norm(x)
    yield h
    for A, b, B in zip(weights.A, weights.b, weights.B, strict=True):
        h = block(h, A, b, B, weights.tableau)
        yield h


def output(x: Tensor, weights: Weights) -> Tensor:
    """Return what the network says: RMSNorm(h_ℓ) (…, width), or logits (…, classes) when it has a head."""
    *_, last = states(x, weights)
    normed = rms_norm(last)
    return normed if weights.head is None else normed @ weights.head.T
