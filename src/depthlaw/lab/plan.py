"""What an experiment will cost, before it is run."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from depthlaw.lab.config import LabConfig
from depthlaw.lab.training import Trainer, tasks_of


@dataclass(frozen=True)
class Cost:
    """Work and memory of an experiment.

    Attributes
    ----------
    tasks, students
        Teachers, and students of each.
    passes
        Block passes of one batch in a training step of a task; a backward pass counts as two forward.
    step_flops
        Multiplications and additions of a training step of a task.
    flops
        Of the whole experiment, tests included.
    parameters
        Of all students of a task.
    memory_bytes
        About what training a task takes beyond Python and torch: weights, gradients and Adam's moments, and
        what the torch engine keeps for the backward pass on a CPU.
    """

    tasks: int
    students: int
    passes: int
    step_flops: float
    flops: float
    parameters: int
    memory_bytes: int


def cost(config: LabConfig) -> Cost:
    """Count the work of an experiment."""
    temperatures = len(config.task_temperatures)
    stages = config.student.method.stages
    blocks = sum(config.student.depths) * stages  # MLPs of the students of one temperature
    students = len(config.student.depths) * temperatures
    heads = config.classes * config.width if config.head != "none" else 0
    learned = heads if config.head == "learned" else 0
    mlp = 2 * config.hidden * config.width + config.hidden
    parameters = temperatures * blocks * mlp + students * learned
    forward = 4 * config.batch * config.hidden * config.width
    head_pass = 2 * config.batch * heads
    test = (config.teacher.depth + temperatures * blocks) * forward + (1 + students) * head_pass
    passes = config.teacher.depth + 3 * temperatures * blocks
    step = passes * forward + (1 + students * (3 if learned else 2)) * head_pass
    trained = math.ceil(config.steps / config.test_every) if config.test_every else 1
    tests = 1 + trained  # the first before any step
    tasks = len(tasks_of(config))
    size = 8 if config.dtype == "float64" else 4
    kept = blocks * config.batch * (config.hidden + config.width + 1)
    padded = max(config.student.depths) * stages * students * mlp
    return Cost(
        tasks=tasks,
        students=students,
        passes=passes,
        step_flops=float(step),
        flops=float(tasks * (config.steps * step + tests * config.test_batches * test)),
        parameters=parameters,
        memory_bytes=size * (2 * padded + 2 * parameters + kept),
    )


def seconds_per_step(config: LabConfig, steps: int = 3) -> tuple[float, str]:
    """Take a few steps of the first task here and return the fastest one's seconds, and the engine's name."""
    trainer = Trainer(config, tasks_of(config)[0])
    times = []
    for _ in range(steps + 1):
        began = time.perf_counter()
        trainer.advance()
        times.append(time.perf_counter() - began)
    return min(times[1:]), trainer.engine.name
