"""The compiled kernel against PyTorch, in interleaved pairs with the same threads.

    python benchmarks/kernel.py [--threads 2] [--pairs 7]

1. FLOP/s of the kernel's matrix products (teacher forward, six students forward and backward) against
   ``torch.mm`` of 1024 × 1024 matrices, with the machine's peak of multiply-adds in registers beside it.
2. The whole step of the `mse` preset, Adam included, against the straightforward PyTorch program: one
   ``nn.Module`` a network, eager, one student after the other, the teacher recomputed for each of them.
3. Peak memory of the kernel's steps above an interpreter with torch.

Batches are drawn beforehand for both. Prints medians of the pairs' ratios.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from depthlaw.tensors import _fused, fused
from depthlaw.tensors.fused import Net

WIDTH, HIDDEN, BATCH = 32, 128, 1024
TEACHER, STUDENTS = 128, (6, 12, 16, 24, 32, 48)
PASS_FLOP = 2 * BATCH * 2 * HIDDEN * WIDTH  # one block forward on one batch; backward is two


def draw(rng: np.random.Generator, blocks: int, scale: float) -> tuple[Net, np.ndarray]:
    """Return a network and the flat array that its parameters are views of."""
    shapes = [(blocks, 1, HIDDEN, WIDTH), (blocks, 1, HIDDEN), (blocks, 1, WIDTH, HIDDEN)]
    bounds = [WIDTH**-0.5, WIDTH**-0.5, scale * HIDDEN**-0.5]
    parts = [rng.uniform(-k, k, s).astype(np.float32) for k, s in zip(bounds, shapes, strict=True)]
    flat = np.concatenate([part.ravel() for part in parts])
    return views(flat, blocks), flat


def views(flat: np.ndarray, blocks: int) -> Net:
    matrix, bias = blocks * HIDDEN * WIDTH, blocks * HIDDEN
    return Net(
        flat[:matrix].reshape(blocks, 1, HIDDEN, WIDTH),
        flat[matrix : matrix + bias].reshape(blocks, 1, HIDDEN),
        flat[matrix + bias :].reshape(blocks, 1, WIDTH, HIDDEN),
    )


class FusedStep:
    def __init__(self, threads: int) -> None:
        rng = np.random.default_rng(0)
        self.threads = threads
        self.teacher, _ = draw(rng, TEACHER, TEACHER**-0.5)
        self.nets, self.params = zip(*(draw(rng, blocks, 0.0) for blocks in STUDENTS), strict=True)
        self.grads, self.first, self.second = ([np.zeros_like(p) for p in self.params] for _ in range(3))
        self.grad_nets = [views(flat, blocks) for flat, blocks in zip(self.grads, STUDENTS, strict=True)]
        self.lr = [2 * 6e-4 / blocks**0.5 for blocks in STUDENTS]
        self.x = rng.standard_normal((BATCH, WIDTH), dtype=np.float32)
        self.step = 0

    def products(self) -> None:
        target = fused.forward(self.teacher, self.x, threads=self.threads)
        self.losses = fused.loss_and_grad(self.nets, self.x, target, self.grad_nets, threads=self.threads)

    def __call__(self) -> None:
        self.products()
        self.step += 1
        fused.adam(
            self.params, self.grads, self.first, self.second, step=self.step, lr=self.lr, threads=self.threads
        )


class Block(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH, elementwise_affine=False)
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)
        with torch.no_grad():
            self.down.weight *= scale

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        return h + self.down(torch.relu(self.up(self.norm(h))).square())


class Network(nn.Module):
    def __init__(self, blocks: int, scale: float) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH, elementwise_affine=False)
        self.blocks = nn.Sequential(*(Block(scale) for _ in range(blocks)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.blocks(self.norm(x)))


class TorchStep:
    def __init__(self) -> None:
        torch.manual_seed(0)
        self.teacher = Network(TEACHER, TEACHER**-0.5)
        self.students = [Network(blocks, 0.0) for blocks in STUDENTS]
        self.optimizers = [
            torch.optim.Adam(net.parameters(), lr=2 * 6e-4 / blocks**0.5)
            for net, blocks in zip(self.students, STUDENTS, strict=True)
        ]
        self.x = torch.randn(BATCH, WIDTH)

    def __call__(self) -> None:
        for student, optimizer in zip(self.students, self.optimizers, strict=True):
            with torch.no_grad():
                target = self.teacher(self.x)
            loss = nn.functional.mse_loss(student(self.x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_pairs(ours: Callable[[], object], peer: Callable[[], object], pairs: int) -> list[tuple[float, float]]:
    ours(), peer()
    return [(seconds(ours), seconds(peer)) for _ in range(pairs)]


def spread(values: list[float], form: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def peak_megabytes(threads: int, steps: int) -> float:
    """Peak resident memory of a fresh interpreter with torch after that many steps of the kernel."""
    command = [sys.executable, __file__, "--threads", str(threads), "--memory-of-steps", str(steps)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def print_memory(threads: int, steps: int) -> None:
    if steps:
        step = FusedStep(threads)
        for _ in range(steps):
            step()
    status = Path("/proc/self/status").read_text()  # getrusage would report the parent's peak before exec
    print(int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--memory-of-steps", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of_steps is not None:
        print_memory(args.threads, args.memory_of_steps)
        return
    torch.set_num_threads(args.threads)
    isa = fused.available()
    print(f"instruction set {isa}, {args.threads} threads, {args.pairs} pairs: median (lowest to highest)")

    peak = max(_fused.peak_flops(args.threads, isa) for _ in range(20))
    ours = FusedStep(args.threads)
    left, right = torch.randn(1024, 1024), torch.randn(1024, 1024)
    flop = (TEACHER + 3 * sum(STUDENTS)) * PASS_FLOP
    repeats = 4  # so that both sides of a pair take about as long
    times = in_pairs(ours.products, lambda: [torch.mm(left, right) for _ in range(repeats)], 3 * args.pairs)
    kernel = [flop / a / 1e9 for a, _ in times]
    mm = [repeats * 2 * 1024**3 / b / 1e9 for _, b in times]
    print(f"kernel            {spread(kernel, '.0f')} GFLOP/s")
    print(f"torch.mm 1024³    {spread(mm, '.0f')} GFLOP/s")
    print(f"peak in registers {peak / 1e9:.0f} GFLOP/s")
    print(
        f"kernel / torch.mm {spread([a / b for a, b in zip(kernel, mm, strict=True)], '.2f')}   target ≥ 0.8"
    )

    times = in_pairs(ours, TorchStep(), args.pairs)
    print(f"step, kernel      {spread([a * 1e3 for a, _ in times], '.1f')} ms")
    print(f"step, PyTorch     {spread([b * 1e3 for _, b in times], '.1f')} ms")
    print(f"PyTorch / kernel  {spread([b / a for a, b in times], '.2f')}   target ≥ 5, aim 8")

    if sys.platform == "linux":
        above = peak_megabytes(args.threads, 5) - peak_megabytes(args.threads, 0)
        print(f"memory            {above:.0f} MB above an interpreter with torch   target ≤ 300")


if __name__ == "__main__":
    main()
