"""``manifest.json``: what a run folder says about itself."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from depthlaw.data.config import structure
from depthlaw.data.files import write_file
from depthlaw.data.jsonio import json_text
from depthlaw.errors import ConfigError, cannot_read

SCHEMA = 1
NAME = "manifest.json"


@dataclass(frozen=True)
class FileRecord:
    """A finished file of a run.

    Attributes
    ----------
    sha256
        Of its bytes, in hexadecimal.
    size
        In bytes.
    """

    sha256: str
    size: int


@dataclass(frozen=True)
class Manifest:
    """A run folder's account of itself.

    Attributes
    ----------
    schema
        Version of this form.
    verb
        The command that made the run.
    id
        Hash of ``identity``, which decides whether a command continues this run.
    status
        ``running`` also after a kill, as nobody was left to say otherwise.
    created, started, finished
        Times in UTC, ISO 8601: of the first start, the last start and the end (``None`` before it).
    seed, device, dtype, model_commit
        ``None`` where the run has none.
    versions
        Of Python and the packages, at the last start.
    config
        All settings, also those that do not change results.
    identity
        What changes results: verb, settings, seed, identity of data and models.
    units
        Of every column in the run's tables; ``"1"`` for a pure number.
    error
        What ended a failed run.
    files
        The finished files, by name within the folder.
    """

    schema: int
    verb: str
    id: str
    status: Literal["running", "done", "interrupted", "failed"]
    created: str
    started: str
    finished: str | None = None
    seed: int | None = None
    device: str | None = None
    dtype: str | None = None
    model_commit: str | None = None
    versions: dict[str, str | None] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    files: dict[str, FileRecord] = field(default_factory=dict)


def read_manifest(folder: str | Path) -> Manifest:
    """Read the manifest of a run folder.

    Raises
    ------
    ConfigError
        When there is none, when it is damaged, or when a newer version wrote it.
    """
    path = Path(folder) / NAME
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{folder} is not a run folder: it has no {NAME}.") from None
    except OSError as error:
        raise ConfigError(cannot_read(path, error).message) from None
    except ValueError as error:
        raise damaged(folder, f"{error}.") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise ConfigError(
            f"{path} has schema {schema}; this version knows up to {SCHEMA}.", "Update depthlaw."
        )
    try:
        return structure(Manifest, data, source=NAME)
    except ConfigError as error:
        raise damaged(folder, error.message.splitlines()[0]) from None


def damaged(folder: str | Path, reason: str) -> ConfigError:
    """Build the error for a manifest that cannot be trusted."""
    return ConfigError(
        f"{Path(folder) / NAME} is damaged: {reason}", "Move that folder away, or choose another --out."
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a run folder.

    Raises
    ------
    OutputError
        When it cannot be written; the one before is then still there.
    """
    write_file(folder / NAME, json_text(manifest).encode())


def record_of(path: Path) -> FileRecord | None:
    """Return what the manifest says of a file, from the file itself; ``None`` when there is none."""
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return FileRecord(digest, file.tell())
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
