"""The compiled CPU kernel of the residual MLP: forward, exact gradients and Adam, NumPy in and out.

A tile of samples is carried through all blocks, forward and back, inside the cache; see ``kernel/``.
The bits of a result depend on the arrays, the batch and the instruction set alone: not on the number of
threads, nor on which other networks are in the same call. All functions release the GIL.

Arrays are C-contiguous, all float32 or all float64 in one call. Shape words: blocks, stages (1: residual
block, 2: midpoint block), hidden, width, classes, batch, students.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


class Isa(StrEnum):
    """Instruction sets that the kernel is built for, best first."""

    AVX512 = "avx512"
    AVX2 = "avx2"
    BASELINE = "baseline"


@dataclass(frozen=True)
class Unavailable:
    """Why there is no kernel here: ``reason`` is one line for people."""

    reason: str


@dataclass(frozen=True)
class Net:
    """Parameters of one residual MLP, or the gradients of its loss with respect to them (same shapes).

    A block is h ← h + f₁(h) for one stage and h ← h + f₂(h + ½ f₁(h)) for two, with
    f(v) = B ReLU²(A RMSNorm(v) + b) (SPEC section 3).

    Attributes
    ----------
    A
        (blocks, stages, hidden, width).
    b
        (blocks, stages, hidden).
    B
        (blocks, stages, width, hidden).
    head
        (classes, width), without bias; ``None``: the network ends in its normalised state. ``None`` in
        gradients: the head is fixed and its gradient is not wanted.
    """

    A: Array
    b: Array
    B: Array
    head: Array | None = None


def available() -> Isa | Unavailable:
    """Return the instruction set the kernel runs with here, or why there is no kernel.

    ``DEPTHLAW_ISA`` (avx512, avx2, baseline) forces one.

    Raises
    ------
    UsageError
        ``DEPTHLAW_ISA`` is unknown, or this processor does not have it.
    """
    raise NotImplementedError


def forward(net: Net, x: Array, *, threads: int | None = None, isa: Isa | None = None) -> Array:
    """Output of a network.

    Parameters
    ----------
    net
        The network.
    x
        (batch, width), before the first RMSNorm.
    threads
        ``None``: as many as this process has processors.
    isa
        ``None``: what ``available`` names.

    Returns
    -------
    Array
        (batch, width) normalised states RMSNorm(h), or (batch, classes) logits when the net has a head.
    """
    raise NotImplementedError


def loss_and_grad(
    nets: Sequence[Net],
    x: Array,
    target: Array,
    grads: Sequence[Net] | None,
    *,
    temperatures: Sequence[tuple[float, float]] | None = None,
    threads: int | None = None,
    isa: Isa | None = None,
) -> NDArray[np.float64]:
    """Losses of several students on one batch, and their exact gradients.

    Parameters
    ----------
    nets
        The students: any depths and stages, one width, hidden size and number of classes.
    x
        (batch, width).
    target
        The teacher's output as ``forward`` gives it: (batch, width) states for the squared error,
        (batch, classes) logits, not yet divided by a temperature, for the divergence.
    grads
        Overwritten, one per student, shapes as in ``nets``; ``None``: losses only.
    temperatures
        ``None``: mean over batch and width of the squared difference of normalised states. Otherwise one
        pair (teacher, student) for each student: KL(softmax(target / teacher) ‖ softmax(logits / student)),
        summed over classes, mean over the batch.
    threads, isa
        As in ``forward``.

    Returns
    -------
    NDArray[np.float64]
        (students,). A student that diverged has a loss that is not finite.
    """
    raise NotImplementedError


def adam(
    params: Sequence[Array],
    grads: Sequence[Array],
    first: Sequence[Array],
    second: Sequence[Array],
    *,
    step: int,
    lr: Sequence[float],
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    threads: int | None = None,
    isa: Isa | None = None,
) -> None:
    """One step of Adam with bias correction, as ``torch.optim.Adam`` takes it by default.

    Parameters
    ----------
    params, grads, first, second
        One array of any one shape per entry (a student's flat parameters, say), C-contiguous. ``params``
        and the running moments ``first`` and ``second`` (zero before the first step) are updated in place.
    step
        Number of this step, counted from 1.
    lr
        Learning rate of each entry.
    betas, eps
        Decay of the moments; added to the root of the second.
    threads, isa
        As in ``forward``; the result does not depend on ``threads``.
    """
    raise NotImplementedError
