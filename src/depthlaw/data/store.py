"""The run store: a run is a folder, whole at any moment, that the same command continues.

`open_run` is the one way in. Files appear under their final names only when complete, the manifest records
each, and a process that is killed leaves a folder that the next one picks up.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

from depthlaw.data import manifest as manifests
from depthlaw.data.config import hash_of, identity_of
from depthlaw.data.environment import package_versions
from depthlaw.data.files import TEMPORARY, locked, make_folder
from depthlaw.data.jsonio import canonical_json, plain
from depthlaw.data.manifest import Manifest, damaged, now, read_manifest, record_of, write_manifest
from depthlaw.data.others import other_run, refuse_foreign
from depthlaw.data.run_folder import LOG, Run, path_of
from depthlaw.errors import DepthlawError, OutputError, cannot_write

__all__ = ["Run", "found_once", "open_run"]


@contextlib.contextmanager
def open_run(
    out: str | Path,
    *,
    verb: str,
    config: Any,
    identity: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    seed: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    model_commit: str | None = None,
    resume: bool = True,
) -> Iterator[Run]:
    """Open the run folder ``out``, new or to be continued, for the length of a ``with`` block.

    The run ends ``done`` when the block ends, ``interrupted`` or ``failed`` when an exception leaves it; what
    was finished stays, and a note of an interruption says so. A run that was done and into which nothing is
    written is left untouched.

    Parameters
    ----------
    config
        The settings: a config dataclass or a mapping. Paths in a dataclass and fields marked
        `depthlaw.data.config.LOCAL` are recorded but do not make another run.
    identity
        What else changes results: hashes of data, revision of a model.
    units
        Unit of every column of the run's tables, ``"1"`` for a pure number.
    seed, device, dtype, model_commit
        Recorded; dtype, commit and a seed given here also change results (a seed in ``config`` does anyway).
    resume
        ``False`` starts over: the files that an earlier run recorded are deleted, whatever its settings.

    Raises
    ------
    ConfigError
        When ``out`` holds a run with other settings, is not a run folder and not empty, or has a damaged
        manifest.
    OutputError
        When ``out`` cannot be written, or another process has it open.
    """
    folder = Path(out)
    whole = {"verb": verb, "seed": seed, "dtype": dtype, "model_commit": model_commit, **(identity or {})}
    whole = {key: value for key, value in whole.items() if value is not None}
    whole["config"] = identity_of(config) if is_dataclass(config) else dict(config)
    fresh = Manifest(
        schema=manifests.SCHEMA,
        verb=verb,
        id=hash_of(whole),
        status="running",
        created=now(),
        started=now(),
        seed=getattr(config, "seed", None) if seed is None else seed,
        device=device,
        dtype=dtype,
        model_commit=model_commit,
        versions=package_versions(),
        config=plain(config),
        identity=json.loads(canonical_json(whole)),
        units=dict(units or {}),
    )
    refuse_foreign(folder)
    make_folder(folder)
    with locked(folder):
        try:
            run = Run(folder, _settle(folder, fresh, resume=resume))
        except OSError as error:
            raise cannot_write(folder, error) from error
        try:
            yield run
        except BaseException as error:
            _close_badly(run, error)
            raise
        if not run.complete:
            run.record(status="done", finished=now())


def found_once(run: Run | None, name: str, find: Callable[[], int]) -> int:
    """Return a number that depends on the machine, as the first call for this run found it.

    Rows of a batch, say: what a run keeps is cut into batches, and a run may go on elsewhere.

    Parameters
    ----------
    run
        ``None`` where nothing is kept.
    name
        What it is the number of; kept as ``NAME.json``.
    """
    file = f"{name}.json"
    if run is not None and run.done(file):
        return int(run.read_json(file)[name])
    number = find()
    if run is not None and not run.complete:
        run.write_json(file, {name: number})
    return number


def _settle(folder: Path, fresh: Manifest, *, resume: bool) -> Manifest:
    """Bring the folder into a state to work in, and return the manifest to go on with."""
    for leftover in folder.rglob(f".*{TEMPORARY}"):
        leftover.unlink(missing_ok=True)
    if not (folder / manifests.NAME).exists():
        write_manifest(folder, fresh)
        return fresh
    before = read_manifest(folder)
    try:
        paths = {name: path_of(folder, name) for name in before.files}
    except ValueError as error:
        raise damaged(folder, str(error)) from None
    if not resume:
        write_manifest(folder, fresh)  # first, so that at no moment deleted files are on record
        for path in (*paths.values(), folder / LOG):
            path.unlink(missing_ok=True)
        return fresh
    if before.id != fresh.id:
        raise other_run(folder, before.identity, fresh.identity)
    whole = {name: record for name, record in before.files.items() if record_of(paths[name]) == record}
    if before.status == "done" and whole == before.files:
        return before
    going_on = replace(fresh, created=before.created, units=before.units | fresh.units, files=whole)
    write_manifest(folder, going_on)
    return going_on


def _close_badly(run: Run, error: BaseException) -> None:
    """Record how the run ended; the error that ended it matters more than failing to record it."""
    interrupted = not isinstance(error, Exception)
    if interrupted and run.manifest.files:
        error.add_note(f"{run.folder} keeps what was finished: the same command goes on from there.")
    if run.complete:
        return
    said = error.message if isinstance(error, DepthlawError) else str(error)
    with contextlib.suppress(OutputError):
        run.record(
            status="interrupted" if interrupted else "failed",
            finished=now(),
            error=" ".join(f"{type(error).__name__}: {said}".split()).removesuffix(":"),
        )
