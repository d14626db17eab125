"""Forward and backward pass of many networks of different depth at once, as batched matrix products.

Networks are sorted by depth, deepest first, so that those still running at block l are a prefix of the stack:
every product of a block is one ``bmm`` over that prefix. The backward pass is written out: it keeps only
RMSNorm's output, its scale and ReLU's output of every stage, and is exact (tested against autograd through
`depthlaw.tensors.residual_mlp`, which defines the mathematics).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from depthlaw.numerics.runge_kutta import Tableau


@dataclass(frozen=True)
class Stack:
    """Weights (or their gradients) of several networks in padded arrays.

    Attributes
    ----------
    depths
        Blocks of each network, descending.
    A, b, B
        (nets, depths[0], stages, hidden, width), (…, hidden), (…, width, hidden); a network's blocks past its
        own depth are padding and never touched. ``A[s, :depths[s]]`` is contiguous.
    head
        (nets, classes, width), or ``None``.
    """

    depths: tuple[int, ...]
    A: Tensor
    b: Tensor
    B: Tensor
    head: Tensor | None

    def running(self, block: int) -> int:
        """Number of networks that have this block: a prefix."""
        return sum(depth > block for depth in self.depths)

    def tensors(self) -> list[tuple[Tensor, ...]]:
        """Per network the contiguous views of its own weights, head last if there is one."""
        return [
            (self.A[s, :d], self.b[s, :d], self.B[s, :d], *(() if self.head is None else (self.head[s],)))
            for s, d in enumerate(self.depths)
        ]

    def zeros_like(self) -> Stack:
        """Return a stack of the same form, all zero."""
        A, b, B = (torch.zeros_like(t) for t in (self.A, self.b, self.B))
        return Stack(self.depths, A, b, B, None if self.head is None else torch.zeros_like(self.head))


@dataclass
class Kept:
    """What one stage of one block keeps for the backward pass, all (running, batch, …)."""

    normed: Tensor
    scale: Tensor
    relu: Tensor


def rms_norm(v: Tensor) -> tuple[Tensor, Tensor]:
    """Return RMSNorm of the last axis and the scale (…, 1) it multiplied with."""
    scale = torch.rsqrt_(v.square().mean(-1, keepdim=True).add_(torch.finfo(v.dtype).eps))
    return v * scale, scale


def rms_norm_backward(grad: Tensor, normed: Tensor, scale: Tensor) -> Tensor:
    """Gradient by RMSNorm's input from that by its output."""
    along = (grad * normed).mean(-1, keepdim=True)
    return torch.addcmul(grad, normed, along, value=-1).mul_(scale)


def forward(h: Tensor, stack: Stack, tableau: Tableau, tape: list[list[Kept]] | None = None) -> Tensor:
    """Return the final states.

    Parameters
    ----------
    h
        (batch, width): the first state h_0, the same for all.
    tape
        Filled for `backward`; ``None`` keeps nothing.

    Returns
    -------
    Tensor
        (nets, batch, width).
    """
    states = h.expand(len(stack.depths), -1, -1)
    finals: list[Tensor] = []  # of the networks that have ended, shallowest first
    for block in range(stack.depths[0]):
        k = stack.running(block)
        if k < len(states):
            finals.append(states[k:])
            states = states[:k]
        pieces: list[Tensor] = []
        kept: list[Kept] = []
        for i, row in enumerate(tableau.inner):
            state = _plus(states, row, pieces)
            normed, scale = rms_norm(state)
            bias = stack.b[:k, block, i, None, :]
            relu = torch.baddbmm(bias, normed, stack.A[:k, block, i].transpose(1, 2)).relu_()
            out = stack.B[:k, block, i].transpose(1, 2)
            if tableau.stages == 1:  # the sum is part of the product
                states = torch.baddbmm(states, relu.square(), out)
            else:
                pieces.append(torch.bmm(relu.square(), out))
            kept.append(Kept(normed, scale, relu))
        if tableau.stages > 1:
            states = _plus(states, tableau.outer, pieces)
        if tape is not None:
            tape.append(kept)
    return torch.cat([states, *reversed(finals)])


def backward(grad: Tensor, stack: Stack, tableau: Tableau, tape: list[list[Kept]], out: Stack) -> None:
    """Write the gradients by all block weights into ``out``.

    Parameters
    ----------
    grad
        (nets, batch, width) gradients by the final states.
    """
    flow = grad[:0]
    for block in reversed(range(stack.depths[0])):
        k = stack.running(block)
        if k > len(flow):  # networks whose last block this is
            flow = torch.cat([flow, grad[len(flow) : k]])
        inner_grads: dict[int, Tensor] = {}
        total = flow
        for i in reversed(range(tableau.stages)):
            weights = [(tableau.outer[i], flow)]
            weights += [(tableau.inner[j][i], g) for j, g in inner_grads.items()]
            piece_grad = _sum(weights)
            if piece_grad is None:  # a stage that nothing uses
                for t in (out.A, out.b, out.B):
                    t[:k, block, i].zero_()
                continue
            inner_grads[i] = _stage_backward(piece_grad, stack, tape[block][i], out, (block, i))
            total = total + inner_grads[i]
        flow = total
        tape[block] = []


def _stage_backward(grad: Tensor, stack: Stack, kept: Kept, out: Stack, at: tuple[int, int]) -> Tensor:
    """Gradients of one MLP: into ``out``, and by its input (returned)."""
    k, (block, i) = len(grad), at
    relu = kept.relu
    torch.bmm(grad.transpose(1, 2), relu.square(), out=out.B[:k, block, i])
    before = torch.bmm(grad, stack.B[:k, block, i]).mul_(relu).mul_(2)
    torch.sum(before, 1, out=out.b[:k, block, i])
    torch.bmm(before.transpose(1, 2), kept.normed, out=out.A[:k, block, i])
    return rms_norm_backward(torch.bmm(before, stack.A[:k, block, i]), kept.normed, kept.scale)


def _plus(state: Tensor, row: Sequence[float], pieces: Sequence[Tensor]) -> Tensor:
    for weight, piece in zip(row, pieces, strict=True):
        if weight != 0:
            state = torch.add(state, piece, alpha=weight)
    return state


def _sum(terms: Sequence[tuple[float, Tensor]]) -> Tensor | None:
    total = None
    for weight, term in terms:
        if weight != 0:
            total = term * weight if total is None else total.add_(term, alpha=weight)
    return total
