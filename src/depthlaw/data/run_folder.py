"""An open run folder: what a verb writes its results with."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from depthlaw.data import manifest as manifests
from depthlaw.data.files import LOCK, atomic_file
from depthlaw.data.jsonio import json_text
from depthlaw.data.manifest import Manifest, now, record_of, write_manifest
from depthlaw.errors import cannot_write

if TYPE_CHECKING:
    import pyarrow as pa

LOG = "log.txt"


def path_of(folder: Path, name: str) -> Path:
    """Return where a run's file of that name is.

    Raises
    ------
    ValueError
        When the name leads out of the folder, or to a file that the store keeps for itself.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or name in (manifests.NAME, LOG, LOCK):
        raise ValueError(f"not a name for a file of a run: {name!r}")
    return folder.joinpath(*parts)


class Run:
    """An open run folder; made by `open_run`, and usable only inside its ``with`` block.

    Names of files are relative to the folder, with ``/`` for folders within it.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest
        self._complete = manifest.status == "done"

    @property
    def folder(self) -> Path:
        """Where the run is."""
        return self._folder

    @property
    def manifest(self) -> Manifest:
        """The manifest as it stands now."""
        return self._manifest

    @property
    def complete(self) -> bool:
        """Whether the run was done when it was opened and nothing was written since."""
        return self._complete

    def done(self, name: str) -> bool:
        """Whether the file is there, whole, and as the manifest recorded it."""
        record = self._manifest.files.get(name)
        return record is not None and record_of(self._path(name)) == record

    def read_json(self, name: str) -> Any:
        """Read a JSON file of the run."""
        return json.loads(self._path(name).read_bytes())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file.

        Raises
        ------
        OutputError
            When it cannot be written; this holds for every ``write_`` method.
        """
        with self.writer(name) as file:
            file.write(data)

    def write_text(self, name: str, text: str) -> None:
        """Write a text file in UTF-8."""
        self.write_bytes(name, text.encode())

    def write_json(self, name: str, obj: Any) -> None:
        """Write a JSON file, see `depthlaw.data.jsonio.json_text`."""
        self.write_bytes(name, json_text(obj).encode())

    def write_table(self, name: str, table: pa.Table, units: Mapping[str, str] | None = None) -> None:
        """Write a Parquet file.

        Parameters
        ----------
        units
            Units of columns that `open_run` was not told; ``"1"`` for a pure number.

        Raises
        ------
        ValueError
            For a column without a unit, or with another one than before: a mistake of the caller.
        """
        import pyarrow.parquet as pq

        known = self._manifest.units | dict(units or {})
        if missing := [column for column in table.column_names if column not in known]:
            raise ValueError(f"{name}: no unit given for {', '.join(missing)}")
        if clash := [key for key, unit in self._manifest.units.items() if known[key] != unit]:
            raise ValueError(f"{name}: another unit before for {', '.join(clash)}")
        self._manifest = replace(self._manifest, units=known)
        with self.writer(name) as file:
            pq.write_table(table, file)

    @contextlib.contextmanager
    def writer(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for writing in pieces; it counts as written when the block ends well."""
        path = self._path(name)
        if self._manifest.status != "running":
            self.record(status="running", started=now(), finished=None, error=None)
        self._complete = False
        with atomic_file(path) as file:
            yield file
        if record := record_of(path):
            self.record(files=dict(sorted((self._manifest.files | {name: record}).items())))

    def log(self, line: str) -> None:
        """Append a line to ``log.txt``, with the time.

        Raises
        ------
        OutputError
            When it cannot be written.
        """
        try:
            with open(self._folder / LOG, "a", encoding="utf-8") as file:
                file.write(f"{now()} {line}\n")
        except OSError as error:
            raise cannot_write(self._folder / LOG, error) from error

    def record(self, **changes: Any) -> None:
        """Change fields of the manifest, on the disk first.

        Raises
        ------
        OutputError
            When it cannot be written.
        """
        manifest = replace(self._manifest, **changes)
        write_manifest(self._folder, manifest)
        self._manifest = manifest

    def _path(self, name: str) -> Path:
        return path_of(self._folder, name)
