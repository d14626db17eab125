"""Students of a kept run, ready to be run again: their stacks, fresh inputs of their task, and their loss."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from depthlaw.data.config import structure
from depthlaw.data.manifest import Manifest, read_manifest
from depthlaw.errors import InputError, UsageError
from depthlaw.lab.config import LabConfig
from depthlaw.lab.engine import StudentKey
from depthlaw.lab.losses import kl_of_samples, mse_of_samples
from depthlaw.lab.networks import Network, draw_teacher
from depthlaw.lab.stack import StudentStack
from depthlaw.lab.streams import Batches, Purpose
from depthlaw.lab.training import Task, keys_of, tasks_of
from depthlaw.lab.weights import read_weights, weights_name
from depthlaw.tensors.residual_mlp import Weights, output

T = TypeVar("T", int, float)


@dataclass(frozen=True)
class Trained:
    """A trained student.

    Attributes
    ----------
    replica, rho, temperature, depth
        Which one; ``temperature`` is ``None`` where the loss has none.
    stack
        The student in the protocol of residual stacks.
    inputs
        (batches, batch, width) that no training and no test has seen.
    loss
        Outputs (batches, batch, outputs) of these inputs → losses (batches, batch): squared error or nats.
    distance
        Outputs of the student and of a changed one → (batches, batch) how far apart they are, in the same
        unit: mean square change, or KL(student ‖ changed).
    """

    replica: int
    rho: float
    temperature: float | None
    depth: int
    stack: StudentStack
    inputs: Tensor
    loss: Callable[[Tensor], Tensor]
    distance: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class KeptRun:
    """A laboratory run in its folder: what was asked, and which tasks are finished.

    Attributes
    ----------
    diverged
        (task, student) whose weights are of no use.
    """

    folder: Path
    config: LabConfig
    tasks: tuple[Task, ...]
    diverged: frozenset[tuple[Task, StudentKey]]
    manifest: Manifest

    @property
    def identity(self) -> str:
        """Hash of the weights: what tells this run's results from another's."""
        digests = [self.manifest.files[weights_name(task)].sha256 for task in self.tasks]
        return hashlib.sha256("".join(digests).encode()).hexdigest()


def open_lab_run(folder: str | Path) -> KeptRun:
    """Open a run of ``depthlaw lab``.

    Raises
    ------
    ConfigError
        When there is no run, or its manifest is damaged.
    InputError
        When it is a run of another verb, or no task of it is finished.
    """
    import pyarrow.parquet as pq

    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest.verb != "lab":
        raise InputError(f"{folder} is a run of depthlaw {manifest.verb}, not of depthlaw lab.")
    config = structure(LabConfig, manifest.config, source=str(folder))
    tasks = tuple(task for task in tasks_of(config) if weights_name(task) in manifest.files)
    if not tasks:
        raise InputError(f"{folder}: no task of this run is finished.", "The command that began it goes on.")
    rows = pq.read_table(folder / "students.parquet").to_pylist()
    diverged = frozenset(
        (Task(row["replica"], row["rho"]), StudentKey(row["depth"], row["temperature"]))
        for row in rows
        if row["diverged"] is not None
    )
    return KeptRun(folder, config, tasks, diverged, manifest)


def choose(
    run: KeptRun,
    *,
    depth: Sequence[int] = (),
    rho: Sequence[float] = (),
    replica: Sequence[int] = (),
    temperature: Sequence[float] = (),
) -> tuple[tuple[Task, StudentKey], ...]:
    """Choose students of a run.

    Parameters
    ----------
    depth
        By default the deepest that has not diverged.
    rho
        By default every one.
    replica
        By default the first.
    temperature
        By default the highest.

    Raises
    ------
    UsageError
        For a value that no student of the run has.
    InputError
        For students named that diverged, or when none is left.
    """
    config = run.config
    temperatures = [value for value in config.task_temperatures if value is not None]
    rhos = _among("rho", rho, {task.rho for task in run.tasks}) or sorted({t.rho for t in run.tasks})
    replicas = _among("replica", replica, {task.replica for task in run.tasks}) or [run.tasks[0].replica]
    warm: Sequence[float | None] = _among("temperature", temperature, temperatures)
    warm = warm or [max(temperatures, default=None)]
    depths = _among("depth", depth, config.student.depths)
    found = []
    for task in [Task(r, p) for r in replicas for p in rhos]:
        for one in warm:
            alive = [d for d in config.student.depths if (task, StudentKey(d, one)) not in run.diverged]
            if gone := [d for d in depths if d not in alive]:
                raise InputError(f"the student of depth {gone[0]} at {task.name} diverged: it has no loss.")
            found += [
                (task, StudentKey(d, one))
                for d in depths or ([max(alive)] if alive else [])
                if task in run.tasks
            ]
    if not found:
        raise InputError(f"{run.folder}: no such student is finished, or all diverged.")
    return tuple(found)


def load_student(run: KeptRun, task: Task, key: StudentKey, *, draw: int = 0) -> Trained:
    """Load a single student, see `load_students`."""
    return next(load_students(run, [(task, key)], draw=draw))


def load_students(
    run: KeptRun, chosen: Iterable[tuple[Task, StudentKey]], *, draw: int = 0
) -> Iterator[Trained]:
    """Load students one by one, with fresh inputs of their task: as many as one of its tests had.

    Weights are read and the teacher is run once for students of a task that follow each other, as `choose`
    has them.

    Parameters
    ----------
    draw
        Which inputs; students of a task get the same.
    """
    for task, students in groupby(chosen, key=itemgetter(0)):
        networks, _ = read_weights(run.folder, task, keys_of(run.config))
        inputs, target = _inputs_and_target(run.config, task, draw)
        for _, key in students:
            yield _trained(run.config, task, key, networks[key], inputs, target)


def _inputs_and_target(config: LabConfig, task: Task, draw: int) -> tuple[Tensor, Tensor]:
    """Inputs (batches, batch, width) and what the teacher makes of them (batches, batch, outputs)."""
    batches = Batches(config.seed, task.replica, Purpose.PLANS, (config.batch, config.width))
    parts = [torch.from_numpy(batches(draw, part)) for part in range(config.test_batches)]
    inputs = torch.stack(parts).to(getattr(torch, config.dtype))
    return inputs, _said(draw_teacher(config, task.replica, task.rho), inputs).double()


def _trained(
    config: LabConfig, task: Task, key: StudentKey, network: Network, inputs: Tensor, target: Tensor
) -> Trained:
    both = config.temperature_of == "both"
    of_teacher = key.temperature or 1.0
    of_student = of_teacher if both else 1.0

    def loss(outputs: Tensor) -> Tensor:
        if config.loss == "mse":
            return mse_of_samples(outputs, target)
        return kl_of_samples(target / of_teacher, outputs / of_student)

    def distance(whole: Tensor, changed: Tensor) -> Tensor:
        if config.loss == "mse":
            return mse_of_samples(changed, whole)
        return kl_of_samples(whole / of_student, changed / of_student)

    stack = StudentStack(network, config.student.method)
    return Trained(task.replica, task.rho, key.temperature, key.depth, stack, inputs, loss, distance)


@torch.no_grad()
def _said(network: Network, inputs: Tensor) -> Tensor:
    """Output of a teacher, whose blocks are residual whatever the students' are."""
    A, b, B = (torch.from_numpy(array) for array in (network.A, network.b, network.B))
    head = None if network.head is None else torch.from_numpy(network.head)
    return output(inputs, Weights(A, b, B, head))


def _among(name: str, asked: Sequence[T], have: Sequence[T] | set[T]) -> list[T]:
    if wrong := [value for value in asked if value not in have]:
        known = ", ".join(f"{value:g}" for value in sorted(have))
        raise UsageError(f"the run has no student of {name} {wrong[0]:g} (have: {known or 'none'}).")
    return list(dict.fromkeys(asked))
