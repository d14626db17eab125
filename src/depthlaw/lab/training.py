"""The training loop of one task: one teacher, its students side by side, from any step to the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from depthlaw.lab.config import LabConfig
from depthlaw.lab.engine import Array, Engine, StudentKey
from depthlaw.lab.engines import make_engine
from depthlaw.lab.networks import draw_student, draw_teacher
from depthlaw.lab.saturation import saturated_since
from depthlaw.lab.streams import Batches, Purpose

ALIVE = -1
"""In place of the step at which a student diverged."""

SHOW_EVERY = 0.1
"""Seconds between reports of progress."""


@dataclass(frozen=True)
class Task:
    """One teacher with all its students.

    Attributes
    ----------
    replica
        Number of the replicate.
    rho
        Correlation of the teacher's blocks.
    """

    replica: int
    rho: float

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"replica{self.replica}_rho{self.rho:g}"


def tasks_of(config: LabConfig) -> tuple[Task, ...]:
    """List the tasks of an experiment, replicate by replicate."""
    replicas = range(config.first_replicate, config.first_replicate + config.replicates)
    return tuple(Task(replica, rho) for replica in replicas for rho in config.rho)


def keys_of(config: LabConfig) -> tuple[StudentKey, ...]:
    """List the students of a task, temperature by temperature."""
    return tuple(StudentKey(d, t) for t in config.task_temperatures for d in config.student.depths)


@dataclass
class Curves:
    """What was measured of a task's students so far.

    Attributes
    ----------
    step
        Steps done at each row.
    train
        Per row (students,) mean training loss over the steps since the row before.
    test
        Per row (students, batches) test losses, NaN where no test was due.
    """

    step: list[int] = field(default_factory=list)
    train: list[NDArray[np.float64]] = field(default_factory=list)
    test: list[NDArray[np.float64]] = field(default_factory=list)


@dataclass
class Progress:
    """How far a task is; what progress bars show.

    Attributes
    ----------
    task, number, tasks
        Which task, its number from 1, of how many.
    step, steps
        Steps done of all.
    rate
        Steps per second lately; NaN at first.
    losses
        (students,) training losses on the last batch.
    keys
        Which students these are.
    stopped
        (students,) step at which each diverged, or `ALIVE`.
    """

    task: Task
    number: int
    tasks: int
    step: int
    steps: int
    rate: float
    losses: NDArray[np.float64]
    keys: tuple[StudentKey, ...]
    stopped: NDArray[np.int64]


class Trainer:
    """A task in training: its engine, where it stands, and what was measured.

    ``untrained`` are the (students, batches) test losses before the first step.
    """

    def __init__(self, config: LabConfig, task: Task) -> None:
        self.config, self.task, self.keys = config, task, keys_of(config)
        teacher = draw_teacher(config, task.replica, task.rho)
        students = [draw_student(config, task.replica, k.depth, k.temperature, teacher) for k in self.keys]
        self.engine: Engine = make_engine(config, teacher, self.keys, students)
        shape = (config.batch, config.width)
        self._batches = Batches(config.seed, task.replica, Purpose.TRAINING, shape)
        self._tests = Batches(config.seed, task.replica, Purpose.TEST, shape)
        self.untrained = self._test(0)
        self.step = 0
        self.stopped = np.full(len(self.keys), ALIVE, np.int64)
        self.curves = Curves()
        self._sum = np.zeros(len(self.keys))
        self._count = 0

    @property
    def done(self) -> bool:
        """Whether all steps are taken, or no student is left."""
        return self.step >= self.config.steps or bool((self.stopped != ALIVE).all())

    def advance(self) -> NDArray[np.float64]:
        """Take one step, measure where that is due, and return the training losses (students,)."""
        config = self.config
        alive = self.stopped == ALIVE
        rates = [config.rate.at(self.step, config.steps, key.depth) for key in self.keys]
        losses = self.engine.train(self._batches(self.step), rates, alive)
        self.stopped[alive & ~np.isfinite(losses)] = self.step
        self._sum += losses
        self._count += 1
        self.step += 1
        if self.step % config.log_every == 0 or self.done:
            self._measure()
        return losses

    def _measure(self) -> None:
        alive = self.stopped == ALIVE
        config = self.config
        due = self.step >= config.steps or (config.test_every > 0 and self.step % config.test_every == 0)
        test = np.full((len(self.keys), config.test_batches), np.nan)
        if due:
            test[alive] = self._test(self.step)[alive]
        self.curves.step.append(self.step)
        self.curves.train.append(np.where(alive, self._sum / self._count, np.nan))
        self.curves.test.append(test)
        self._sum[:] = 0
        self._count = 0

    def _test(self, step: int) -> NDArray[np.float64]:
        """Losses (students, batches) on the test batches of a step."""
        parts = [self.engine.losses(self._tests(step, part)) for part in range(self.config.test_batches)]
        return np.stack(parts, axis=1)

    @property
    def saturated(self) -> NDArray[np.int64]:
        """Step (students,) since which each is worse than untrained, or ``NEVER``; see `saturated_since`."""
        curves = self.curves
        return saturated_since(curves.step, np.array(curves.train), curves.test[-1], self.untrained)

    def state(self) -> dict[str, Array]:
        """Everything needed to go on bit for bit, by name."""
        n, t = len(self.keys), self.config.test_batches
        own = {
            "loop.step": np.array([self.step], np.float64),
            "loop.stopped": self.stopped.astype(np.float64),
            "loop.sum": self._sum,
            "loop.count": np.array([self._count], np.float64),
            "curves.step": np.array(self.curves.step, np.float64),
            "curves.train": np.array(self.curves.train, np.float64).reshape(-1, n),
            "curves.test": np.array(self.curves.test, np.float64).reshape(-1, n, t),
        }
        return {**own, **self.engine.state()}

    def load_state(self, state: Mapping[str, Array]) -> None:
        """Go on from a state."""
        self.engine.load_state(state)
        self.step = int(state["loop.step"][0])
        self.stopped = state["loop.stopped"].astype(np.int64)
        self._sum = np.array(state["loop.sum"], np.float64)
        self._count = int(state["loop.count"][0])
        self.curves = Curves(
            [int(step) for step in state["curves.step"]],
            list(np.asarray(state["curves.train"], np.float64)),
            list(np.asarray(state["curves.test"], np.float64)),
        )


def run_to_end(
    trainer: Trainer,
    *,
    place: tuple[int, int] = (1, 1),
    progress: Callable[[Progress], None] | None = None,
    after_step: Callable[[], None] | None = None,
) -> None:
    """Train until the task is done.

    Parameters
    ----------
    place
        Number of the task and of how many, for ``progress``.
    progress
        Called about ten times a second.
    after_step
        Called after every step; what it raises leaves the task where it is.
    """
    shown = began = time.monotonic()
    first = trainer.step
    while not trainer.done:
        losses = trainer.advance()
        now = time.monotonic()
        if progress is not None and (now - shown >= SHOW_EVERY or trainer.done):
            rate = (trainer.step - first) / (now - began) if now > began else float("nan")
            progress(
                Progress(
                    trainer.task,
                    *place,
                    trainer.step,
                    trainer.config.steps,
                    rate,
                    losses,
                    trainer.keys,
                    trainer.stopped.copy(),
                )
            )
            shown = now
        if after_step is not None:
            after_step()
