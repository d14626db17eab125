"""Running many experiments: what is kept is reused, a failure stops only its own, several at a time."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from depthlaw.data.files import make_folder
from depthlaw.data.manifest import NAME as MANIFEST
from depthlaw.data.manifest import read_manifest
from depthlaw.data.others import foreign, names_in, other_run
from depthlaw.data.store import open_run
from depthlaw.errors import ConfigError, DepthlawError, UsageError
from depthlaw.reproduce import inputs
from depthlaw.reproduce.keeping import NAME, read_outcome, was_skipped, write_outcome
from depthlaw.reproduce.outcome import Outcome
from depthlaw.reproduce.registry import Experiment, Scale, select

log = logging.getLogger(__name__)

PAGES = {"report.html", "report.json", "report.md"}
"""What ``depthlaw report`` writes beside experiments."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Order:
    """One experiment to run and where to keep it.

    Attributes
    ----------
    resume
        Take what the folder holds, if it was made with the same scale and input and not skipped.
    """

    id: str
    scale: Scale
    folder: Path
    resume: bool = True


def run_all(
    chosen: Sequence[Experiment],
    scale: Scale,
    out: Path,
    *,
    jobs: int = 1,
    resume: bool = True,
    strict: bool = True,
    begun: Callable[[Experiment], None] = lambda experiment: None,
) -> Iterator[Outcome]:
    """Run experiments and yield their outcomes in the order of ``chosen``, each as soon as it is known.

    Parameters
    ----------
    out
        Each is kept in the folder of its id below this one.
    jobs
        Processes. Experiments that share a training run go to the same one, and the cores are divided.
    resume
        Reuse outcomes that are kept there, if their input is still the same; what was skipped is tried again.
    strict
        Refuse a folder that holds another scale; otherwise it is started over.
    begun
        Told of each experiment that is about to run in this process.

    Raises
    ------
    UsageError
        Before anything runs: no jobs, or a folder that holds something else (runs in folders of their own
        below ``out`` may be there, and the pages of ``depthlaw report``).
    OutputError
        Before anything runs: ``out`` cannot be created.
    """
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}, and must be at least 1.")
    _refuse_other(out)
    make_folder(out)
    orders = []
    for experiment in chosen:
        folder = out / experiment.id
        keep = resume and _may_resume(folder, experiment.id, scale, strict)
        orders.append(Order(experiment.id, scale, folder, keep))
    if jobs == 1 or len(orders) == 1:
        for experiment, order in zip(chosen, orders, strict=True):
            begun(experiment)
            yield run_one(order)
        return
    with _pool(jobs) as pool:
        batches: dict[str, list[Order]] = {}
        for experiment, order in zip(chosen, orders, strict=True):
            batches.setdefault(experiment.shares or experiment.id, []).append(order)
        futures: dict[str, Future[dict[str, Outcome]]] = {}
        for batch in batches.values():
            future = pool.submit(_run_batch, batch)
            futures |= dict.fromkeys((order.id for order in batch), future)
        for order in orders:
            try:
                yield futures[order.id].result()[order.id]
            except BrokenProcessPool:
                why = "its process was killed; was there enough memory? Try again with --jobs 1."
                yield Outcome(order.id, select([order.id])[0].title, "", failed=why)


def run_one(order: Order) -> Outcome:
    """Run an experiment and keep its outcome; an error becomes an outcome that failed."""
    experiment = next(e for e in select([order.id]) if e.id == order.id)
    here = inputs.inputs(experiment.needs, order.scale)
    resume = order.resume and _still_holds(order.folder, here)
    config = {"experiment": order.id, "scale": order.scale}
    failed: Outcome | None = None
    try:
        with open_run(
            order.folder, verb="reproduce", config=config, identity={"inputs": here}, resume=resume
        ) as run:
            if run.complete:
                log.debug("%s: kept", order.id)
                return read_outcome(order.folder)
            try:
                outcome = experiment.run(order.scale)
            except Exception as error:
                failed = Outcome(order.id, experiment.title, "", failed=_said(error))
                write_outcome(run, failed)
                raise
            write_outcome(run, outcome)
            return outcome
    except Exception as error:
        if failed is None and isinstance(error, ConfigError):
            raise  # of the folder that was named, not of the experiment
        log.debug("%s failed", order.id, exc_info=True)
        return failed or Outcome(order.id, experiment.title, "", failed=_said(error))


def _said(error: Exception) -> str:
    if isinstance(error, DepthlawError):
        return " ".join(str(error).split())
    return " ".join(f"{type(error).__name__}: {error} (a defect of depthlaw: -vv shows where)".split())


def _refuse_other(out: Path) -> None:
    """Refuse a folder that is a run itself, or holds files that are not ours.

    Raises
    ------
    ConfigError
        Before anything is written.
    """
    names = names_in(out)
    if MANIFEST in names:
        verb = read_manifest(out).verb
        raise ConfigError(
            f"{out} holds a run of depthlaw {verb}; reproduce needs a folder of its own.",
            "Choose another --out, or an empty folder.",
        )
    if files := {name for name in names - PAGES if not (out / name).is_dir()}:
        raise foreign(out, files)


def _may_resume(folder: Path, name: str, scale: Scale, strict: bool) -> bool:
    """Whether the folder holds this experiment at this scale; refuse what it must not overwrite."""
    if not (folder / MANIFEST).exists():
        return True
    before = read_manifest(folder).identity
    asked = {"verb": "reproduce", "config": {"experiment": name, "scale": scale}}
    same = all(before.get(key) == value for key, value in asked.items())
    if not same and (strict or before.get("verb") != asked["verb"]):
        raise other_run(folder, {key: before.get(key) for key in asked}, asked)
    return same


def _still_holds(folder: Path, here: dict[str, str]) -> bool:
    """Whether what was kept ran, and on what is here; without a file of its own there is nothing to reuse."""
    if not (folder / MANIFEST).exists():
        return True
    manifest = read_manifest(folder)
    if manifest.identity.get("inputs") != here:
        return False
    # What it lacked may have come since, and is not among the inputs, as an uninstalled package is not.
    return manifest.status != "done" or (NAME in manifest.files and not was_skipped(folder))


def _run_batch(orders: Sequence[Order]) -> dict[str, Outcome]:
    return {order.id: run_one(order) for order in orders}


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that share the cores; numerical libraries read the number of threads when they are loaded."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = str(max(1, cores // jobs))
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, threads))
    others = set(multiprocessing.active_children())
    # Not fork: torch's and BLAS's threads do not survive it.
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_quiet_start,
        initargs=(logging.getLogger("depthlaw").getEffectiveLevel(), log.getEffectiveLevel()),
    )
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()  # Ctrl-C reaches them by itself, a scheduler's signal does not
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _quiet_start(level: int, ours: int) -> None:
    """Let a new process log as the first one does (progress too), and end as it does when it is told to."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logger = logging.getLogger("depthlaw")
    logger.setLevel(level)
    logging.getLogger(__package__).setLevel(ours)
    logger.addHandler(logging.StreamHandler())
