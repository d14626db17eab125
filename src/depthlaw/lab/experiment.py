"""``train_lab``: run an experiment task by task, keeping it in a run folder when it has one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depthlaw.data.config import replaced
from depthlaw.data.store import Run, open_run
from depthlaw.lab import checkpoint
from depthlaw.lab.config import LabConfig, seconds
from depthlaw.lab.engine import StudentKey
from depthlaw.lab.metrics import UNITS, batches_table, metrics_table, students_table
from depthlaw.lab.networks import Network
from depthlaw.lab.presets import preset
from depthlaw.lab.result import LabResult
from depthlaw.lab.saturation import NEVER
from depthlaw.lab.training import ALIVE, Progress, Task, Trainer, keys_of, run_to_end, tasks_of
from depthlaw.lab.weights import read_weights, weights_bytes, weights_name

if TYPE_CHECKING:
    import pyarrow as pa


def train_lab(
    config: LabConfig | str = "mse",
    *,
    out: str | Path | None = None,
    resume: bool = True,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> LabResult:
    """Train students on teachers whose way of using depth is known.

    Parameters
    ----------
    config
        A configuration, or the name of a preset.
    out
        Folder to keep the run in: weights, metrics, and a checkpoint from which the same call goes on after
        an interruption, bit for bit; ``None`` keeps everything in memory.
    resume
        Whether to go on with what ``out`` holds.
    progress
        Called with the state of training, about ten times a second.
    **settings
        Fields of `LabConfig` that override ``config``.

    Returns
    -------
    LabResult
        Its ``status`` says whether a student diverged; the others have gone on without it.

    Raises
    ------
    KeyboardInterrupt
        On SIGINT or SIGTERM, once the checkpoint is written.
    ConfigError
        When ``out`` holds something else.
    UsageError
        For a configuration that cannot be meant, or an engine or device that is not there.
    """
    config = replaced(LabConfig, preset(config) if isinstance(config, str) else config, settings)
    kept = nullcontext() if out is None else open_run(out, verb="lab", resume=resume, **run_options(config))
    with kept as run:
        return _Experiment(config, run, progress).execute()


def run_options(config: LabConfig) -> dict[str, Any]:
    """Return what `open_run` needs to know of a laboratory run besides the folder."""
    return {"config": config, "units": UNITS, "device": config.device, "dtype": config.dtype}


def execute(
    config: LabConfig, run: Run | None, progress: Callable[[Progress], None] | None = None
) -> LabResult:
    """Train in a run folder that is already open; see `train_lab`."""
    return _Experiment(config, run, progress).execute()


class _Experiment:
    """The tasks of one experiment and their files."""

    def __init__(
        self, config: LabConfig, run: Run | None, progress: Callable[[Progress], None] | None
    ) -> None:
        self.config, self.run, self.progress = config, run, progress
        self.keys = keys_of(config)
        self.tasks = tasks_of(config)
        self.tables: dict[str, dict[Task, pa.Table]] = {"metrics": {}, "test_batches": {}, "students": {}}
        self.networks: dict[Task, dict[StudentKey, Network]] = {}
        self.engine = ""

    def execute(self) -> LabResult:
        with checkpoint.deferred_signals() as request:
            self._take_finished()
            for number, task in enumerate(self.tasks, 1):
                if task not in self.networks:
                    self._train(task, (number, len(self.tasks)), request)
        self._close()
        whole = {name: self._whole(name) for name in self.tables}
        diverged = whole["students"]["diverged"].null_count < len(whole["students"])
        return LabResult(
            config=self.config,
            networks={task: self.networks[task] for task in self.tasks},
            engine=self.engine,
            status="diverged" if diverged else "done",
            **whole,
        )

    def _train(self, task: Task, place: tuple[int, int], request: checkpoint.StopRequest) -> None:
        trainer = Trainer(self.config, task)
        self.engine = trainer.engine.name
        self._go_on(trainer)
        clock = checkpoint.Clock(seconds(self.config.checkpoint_every))

        def after_step() -> None:
            if self.run is not None and (request.requested or clock.due()) and not trainer.done:
                self._checkpoint(trainer)
            if request.requested:
                raise KeyboardInterrupt

        if self.run is not None:
            self.run.log(f"{task.name}: engine {trainer.engine.name}, from step {trainer.step}")
        run_to_end(trainer, place=place, progress=self.progress, after_step=after_step)
        self._finish(trainer)

    def _go_on(self, trainer: Trainer) -> None:
        """Continue from the checkpoint, if it is of this task.

        It counts whether or not the manifest has it on record: it was renamed into place whole, and a kill
        between that and the record must not cost the work of hours. It names the run it belongs to.
        """
        if self.run is None or not (self.run.folder / checkpoint.NAME).exists():
            return
        state, about = checkpoint.read(self.run.folder / checkpoint.NAME)
        if about == self._label(trainer.task):
            trainer.load_state(state)

    def _checkpoint(self, trainer: Trainer) -> None:
        if self.run is not None:
            self.run.write_bytes(
                checkpoint.NAME, checkpoint.to_bytes(trainer.state(), self._label(trainer.task))
            )

    def _label(self, task: Task) -> dict[str, str]:
        if self.run is None:
            return {}
        manifest = self.run.manifest
        return {"task": task.name, "run": manifest.id, "created": manifest.created}

    def _finish(self, trainer: Trainer) -> None:
        """Keep a finished task: tables first, then the weights, whose presence says that it is finished."""
        task = trainer.task
        self._add(
            task,
            metrics_table(task, self.keys, trainer.curves),
            batches_table(task, self.keys, trainer.curves),
            students_table(
                task,
                self.keys,
                trainer.stopped.tolist(),
                trainer.saturated.tolist(),
                trainer.untrained.mean(1),
            ),
        )
        self.networks[task] = dict(zip(self.keys, trainer.engine.networks(), strict=True))
        if self.run is not None:
            for key, step in zip(self.keys, trainer.stopped.tolist(), strict=True):
                if step != ALIVE:
                    self.run.log(f"{task.name}: {key.name} diverged at step {step}")
            for key, step in zip(self.keys, trainer.saturated.tolist(), strict=True):
                if step != NEVER:
                    self.run.log(f"{task.name}: {key.name} is worse than untrained since step {step}")
            self._write_tables()
            data = weights_bytes(self.networks[task], self.engine)
            self.run.write_bytes(weights_name(task), data)

    def _add(self, task: Task, metrics: pa.Table, test_batches: pa.Table, students: pa.Table) -> None:
        for name, table in (("metrics", metrics), ("test_batches", test_batches), ("students", students)):
            self.tables[name][task] = table

    def _whole(self, name: str) -> pa.Table:
        """Rows of all tasks so far, in the order of the tasks."""
        import pyarrow as pa

        parts = self.tables[name]
        return pa.concat_tables([parts[task] for task in self.tasks if task in parts]).combine_chunks()

    def _write_tables(self) -> None:
        if self.run is not None:
            for name in self.tables:
                self.run.write_table(f"{name}.parquet", self._whole(name))

    def _take_finished(self) -> None:
        """Read all tasks that earlier processes finished, before any table is written over.

        Weights without rows of their students are no finished task.
        """
        if self.run is None or not all(self.run.done(f"{name}.parquet") for name in self.tables):
            return
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        kept = {name: pq.read_table(self.run.folder / f"{name}.parquet") for name in self.tables}
        for task in self.tasks:
            mine = {
                name: whole.filter(
                    pc.and_(pc.equal(whole["replica"], task.replica), pc.equal(whole["rho"], task.rho))
                )
                for name, whole in kept.items()
            }
            if len(mine["students"]) and self.run.done(weights_name(task)):
                self._add(task, **mine)
                self.networks[task], self.engine = read_weights(self.run.folder, task, self.keys)

    def _close(self) -> None:
        """Leave no checkpoint of a task that is finished: it is as large as three times the weights."""
        empty = checkpoint.to_bytes({}, {})
        path = None if self.run is None else self.run.folder / checkpoint.NAME
        if self.run is not None and path is not None and path.exists() and path.read_bytes() != empty:
            self.run.write_bytes(checkpoint.NAME, empty)
