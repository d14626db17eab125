"""The compiled CPU kernel of the residual MLP: forward, exact gradients and Adam, NumPy in and out.

A panel of samples is carried through all blocks, forward and back, inside the cache; see ``kernel/``.
The bits of a result depend on the arrays, the batch and the instruction set alone: not on the number of
threads, nor on which other networks are in the same call. All functions release the GIL.

Arrays are C-contiguous, all float32 or all float64 in one call. Shape words: blocks, stages (1: residual
block, 2: midpoint block), hidden, width, classes, batch, students.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.errors import UsageError, unknown_name

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
    if isinstance(extension := _extension(), Unavailable):
        return extension
    have = extension.supported()
    name = os.environ.get("DEPTHLAW_ISA") or have[0]
    if name not in list(Isa):
        raise unknown_name("DEPTHLAW_ISA", name, list(Isa))
    if name not in have:
        raise UsageError(
            f'DEPTHLAW_ISA: this processor or build has no "{name}" (have: {", ".join(have)}).',
            "Unset DEPTHLAW_ISA to take the best one.",
        )
    return Isa(name)


def supported() -> list[Isa]:
    """Return all instruction sets that can be chosen here, best first; empty without a kernel."""
    extension = _extension()
    return [] if isinstance(extension, Unavailable) else [Isa(name) for name in extension.supported()]


@cache
def _extension() -> Any:
    name = "depthlaw.tensors._fused"
    if importlib.util.find_spec(name) is None:
        return Unavailable("not built: depthlaw was installed without a C++ compiler (GCC or Clang)")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        return Unavailable(f"built, but does not load: {error}")


def _start(isa: Isa | None, threads: int | None) -> tuple[Any, str, int]:
    """Return the extension, the instruction set's name and the number of threads."""
    best = available()
    if isinstance(best, Unavailable):
        raise UsageError(f"The compiled kernel is {best.reason}.", "Use the torch engine.")
    isa = best if isa is None else isa
    if isa not in supported():
        raise unknown_name("instruction set", isa, supported())
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise UsageError(f"threads: {threads} is not a number of threads.")
    return _extension(), str(isa), threads


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
    extension, name, count = _start(isa, threads)
    width = _check_net("net", net, net.A.dtype)[3]
    _check("x", x, (None, width), net.A.dtype)
    columns = width if net.head is None else net.head.shape[0]
    out = np.empty((len(x), columns), net.A.dtype)
    extension.forward(_arrays(net), x, out, count, name)
    return out


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
    extension, name, count = _start(isa, threads)
    if not nets:
        return np.empty(0)
    dtype = nets[0].A.dtype
    sizes = {_check_net(f"nets[{k}]", net, dtype)[2:] for k, net in enumerate(nets)}
    if len(sizes) > 1:
        raise UsageError(f"nets: one (hidden, width) for all, got {sorted(sizes)}.")
    width = nets[0].A.shape[3]
    _check("x", x, (None, width), dtype)
    if temperatures is None:
        _check("target", target, (len(x), width), dtype)
    else:
        _check("target", target, (len(x), None), dtype)
        _check_heads(nets, target.shape[1], temperatures)
    if grads is not None:
        _check_grads(nets, grads, dtype)
    arrays = [[_arrays(net) for net in group] for group in (nets, grads or [])]
    pairs = [(float(teacher), float(student)) for teacher, student in temperatures or []]
    return np.array(extension.train(arrays[0], x, target, arrays[1], pairs, count, name))


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
    extension, name, count = _start(isa, threads)
    if len({len(params), len(grads), len(first), len(second), len(lr)}) != 1:
        raise UsageError("adam: params, grads, first, second and lr differ in length.")
    if step < 1:
        raise UsageError(f"adam: step {step}; steps count from 1.")
    if not params:
        return
    entries = list(zip(params, grads, first, second, lr, strict=True))
    for k, (param, *others, _) in enumerate(entries):
        for label, array in zip(("params", "grads", "first", "second"), (param, *others), strict=True):
            _check(f"{label}[{k}]", array, param.shape, params[0].dtype)
    extension.adam(entries, step, *betas, eps, count, name)


def _check(name: str, array: Array, shape: tuple[int | None, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what the extension cannot read; ``None`` in ``shape`` is any size but zero."""
    fits = array.ndim == len(shape) and all(
        have == want if want is not None else have > 0 for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise UsageError(f"{name}: shape {array.shape}, expected ({wanted}).")
    if array.dtype != dtype or dtype not in (np.float32, np.float64):
        raise UsageError(f"{name}: {array.dtype}, expected float32 or float64 and the same for all arrays.")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name}: not C-contiguous.", "Pass numpy.ascontiguousarray of it.")


def _check_net(name: str, net: Net, dtype: np.dtype[Any]) -> tuple[int, int, int, int]:
    """Check one network; return blocks, stages, hidden, width."""
    _check(f"{name}.A", net.A, (None, None, None, None), dtype)
    blocks, stages, hidden, width = net.A.shape
    if stages not in (1, 2):
        raise UsageError(f"{name}: {stages} stages a block; the kernel knows 1 (residual) and 2 (midpoint).")
    _check(f"{name}.b", net.b, (blocks, stages, hidden), dtype)
    _check(f"{name}.B", net.B, (blocks, stages, width, hidden), dtype)
    if net.head is not None:
        _check(f"{name}.head", net.head, (None, width), dtype)
    return blocks, stages, hidden, width


def _check_heads(nets: Sequence[Net], classes: int, temperatures: Sequence[tuple[float, float]]) -> None:
    if len(temperatures) != len(nets):
        raise UsageError(f"temperatures: {len(temperatures)} pairs for {len(nets)} nets.")
    if not all(t > 0 for pair in temperatures for t in pair):
        raise UsageError(f"temperatures: {list(temperatures)}, must be positive.")
    for k, net in enumerate(nets):
        if net.head is None or len(net.head) != classes:
            raise UsageError(
                f"nets[{k}].head: the divergence needs one of {classes} classes, as the target has."
            )


def _check_grads(nets: Sequence[Net], grads: Sequence[Net], dtype: np.dtype[Any]) -> None:
    if len(grads) != len(nets):
        raise UsageError(f"grads: {len(grads)} for {len(nets)} nets.")
    for k, (net, grad) in enumerate(zip(nets, grads, strict=True)):
        for name in ("A", "b", "B", "head"):
            wanted, array = getattr(net, name), getattr(grad, name)
            if name == "head" and array is None:
                continue
            if wanted is None:
                raise UsageError(f"grads[{k}].head: the net has no head.")
            _check(f"grads[{k}].{name}", array, wanted.shape, dtype)


def _arrays(net: Net) -> tuple[Array, Array, Array, Array | None]:
    return net.A, net.b, net.B, net.head
