"""Writing a file so that it is there whole or not at all, and saying plainly why it could not be written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from depthlaw.errors import ELSEWHERE, OutputError, cannot_write

TEMPORARY = ".depthlaw-tmp"
"""How the names of unfinished files end; a killed process may leave one behind."""

LOCK = ".lock"
"""The file in a folder by which one process holds it against others; it stays, empty."""


def write_file(path: str | Path, data: bytes) -> None:
    """Write ``data`` to ``path`` atomically, creating the folders above it.

    Raises
    ------
    OutputError
        When it cannot be written; whatever ``path`` held before is then still there.
    """
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears at ``path`` when the block ends well, and not before.

    It is written under a temporary name in the same folder, flushed to the disk and renamed. A link at
    ``path`` stays a link: its target is replaced.

    Raises
    ------
    OutputError
        When it cannot be written (no permission, no space, a folder in its place); the temporary file is
        removed, and whatever ``path`` held before is still there.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        # Renaming over a device such as /dev/stdout would replace it.
        raise OutputError(f"cannot write {path}: not a regular file.", ELSEWHERE)
    temporary = target.with_name(f".{target.name}.{os.getpid()}{TEMPORARY}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    except OSError as error:
        # The block may fail over other files, which is not about writing this one.
        if error.filename in (None, *map(str, (temporary, target, *target.parents))):
            raise cannot_write(path, error) from error
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def make_folder(path: str | Path) -> None:
    """Create a folder and those above it.

    Raises
    ------
    OutputError
        When it cannot be created, or is a file.
    """
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def sync_folder(path: Path) -> None:
    """Flush a folder's entries, so that a rename in it survives a power cut. Not every system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder against other processes; the system lets go when this one ends, however it ends.

    Raises
    ------
    OutputError
        When another process has it, or the lock file cannot be made.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise cannot_write(folder / LOCK, error) from error
    try:
        if not _try_lock(descriptor):
            raise OutputError(
                f"{folder} is being written by another process.",
                "Wait for it to end, or choose another --out.",
            )
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # no such locks on this system: as good as alone
        return True
    lock: Callable[[int, int], None] = fcntl.flock
    try:
        lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
