"""One whole training step of the protocol `mse` against the straightforward PyTorch program.

The peer is what one would write first: `nn.Module` with `nn.Linear`, eager, one student after the other, the
teacher run anew for each, `torch.optim.Adam` each. Both take the same batches with the same threads, in
interleaved pairs in one process.

    python benchmarks/lab_step.py [--engine fused] [--threads 2] [--pairs 7]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn

from depthlaw.lab.config import LabConfig
from depthlaw.lab.networks import Network, draw_teacher
from depthlaw.lab.presets import preset
from depthlaw.lab.streams import Batches, Purpose
from depthlaw.lab.training import Task, Trainer


class Block(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, elementwise_affine=False)
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(hidden, width, bias=False)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        return h + self.outer(torch.relu(self.inner(self.norm(h))) ** 2)


class Residual(nn.Module):
    def __init__(self, depth: int, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, elementwise_affine=False)
        self.blocks = nn.ModuleList(Block(width, hidden) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        for block in self.blocks:
            h = block(h)
        return self.norm(h)

    @torch.no_grad()
    def take(self, network: Network) -> Residual:
        for at, block in enumerate(self.blocks):
            block.inner.weight.copy_(torch.from_numpy(network.A[at, 0]))
            block.inner.bias.copy_(torch.from_numpy(network.b[at, 0]))
            block.outer.weight.copy_(torch.from_numpy(network.B[at, 0]))
        return self


def straightforward(config: LabConfig, trainer: Trainer) -> Callable[[int], list[float]]:
    """Return the peer's step: batch number → losses of the students."""
    teacher = Residual(config.teacher.depth, config.width, config.hidden).take(
        draw_teacher(config, 0, trainer.task.rho)
    )
    students, adams = [], []
    for depth, network in zip(config.student.depths, trainer.engine.networks(), strict=True):
        student = Residual(depth, config.width, config.hidden).take(network)
        students.append(student)
        adams.append(torch.optim.Adam(student.parameters(), lr=config.rate.at(0, config.steps, depth)))
    batches = Batches(config.seed, 0, Purpose.TRAINING, (config.batch, config.width))

    def step(number: int) -> list[float]:
        found = []
        x = torch.from_numpy(batches(number))
        for student, adam in zip(students, adams, strict=True):
            with torch.no_grad():
                target = teacher(x)
            loss = nn.functional.mse_loss(student(x), target)
            adam.zero_grad()
            loss.backward()
            adam.step()
            found.append(loss.item())
        return found

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="fused", choices=["fused", "torch"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    config = replace(preset("mse"), rho=(0.0,), engine=options.engine, threads=options.threads)
    torch.set_num_threads(options.threads)
    trainer = Trainer(config, Task(0, 0.0))
    peer = straightforward(config, trainer)
    ours, theirs, worst = [], [], 0.0
    for number in range(options.pairs + 1):
        began = time.perf_counter()
        mine = trainer.advance()
        middle = time.perf_counter()
        other = peer(number)
        ended = time.perf_counter()
        worst = max(worst, max(abs(a - b) / b for a, b in zip(mine, other, strict=True)))
        if number:  # the first warms both up
            ours.append(middle - began)
            theirs.append(ended - middle)
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    print(f"depthlaw, engine {options.engine}: {1e3 * statistics.median(ours):.1f} ms a step")
    print(f"straightforward PyTorch {torch.__version__}: {1e3 * statistics.median(theirs):.1f} ms a step")
    print(f"ratio {ratio:.2f} (median of {options.pairs} interleaved pairs, {options.threads} threads)")
    print(f"largest relative difference of a loss: {worst:.1e}")
    print(f"peak memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
