"""What a pass keeps on disk as it goes, so that a killed one goes on and ends with the same rows.

After every shard of tokens comes a file with the whole state of the pass: where reading stands, and what
every observer gathered. The newest such file decides where a resumed pass begins; a shard written after it is
written again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.text.batch import Position
from depthlaw.probe.columns import QUANTITIES, units
from depthlaw.probe.seen import Observer, Seen
from depthlaw.probe.table import joined, token_table

if TYPE_CHECKING:
    import pyarrow as pa

    from depthlaw.data.store import Run

SHARD_TOKENS = 16_384
"""Tokens after which a shard ends, at the end of a batch; some 14 MB for 30 layers."""
LENS_SHARE = 8
"""How many times shorter shards are with a lens, which is so much slower: a kill then costs minutes, too."""


class Keeper:
    """Gathers batches, and writes shards and states when there is a run folder.

    Attributes
    ----------
    position
        Behind the last batch that was taken in.
    """

    def __init__(
        self, run: Run | None, observers: Sequence[Observer], *, tokens: bool, lens: bool = False
    ) -> None:
        self.position = Position()
        self._shard_tokens = SHARD_TOKENS // LENS_SHARE if lens else SHARD_TOKENS
        self._run = run
        self._observers = observers
        self._tokens = tokens
        self._tables: list[pa.Table] = []
        self._pending = 0
        self._shards = 0
        if run is not None:
            self._restore(run)

    def take(self, seen: Seen, after: Position) -> None:
        """Take one batch in; ends the shard when it is long enough."""
        for observer in self._observers:
            observer.observe(seen)
        if self._tokens and seen.n_tokens:
            self._tables.append(token_table(seen))
        self._pending += seen.n_tokens
        self.position = after
        if self._run is not None and self._pending >= self._shard_tokens:
            self._write(self._run)

    def finish(self, after: Position) -> None:
        """Write what is left; ``after`` is where reading ended."""
        ended = after != self.position
        self.position = after
        if self._run is not None and (self._pending or ended or not self._shards):
            self._write(self._run)

    def table(self) -> pa.Table | None:
        """The tokens of a pass without a folder; ``None`` when they were not kept."""
        return joined(self._tables)

    def _write(self, run: Run) -> None:
        if self._tables:
            table = joined(self._tables)
            assert table is not None
            run.write_table(f"tokens/{self._shards:05d}.parquet", table, units(quantities_of(table)))
        self._tables, self._pending = [], 0
        self._shards += 1
        from safetensors.numpy import save

        run.write_bytes(_state_name(self._shards), save(self._arrays()))
        self._forget_before(run, self._shards)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            f"{observer.name}/{name}": np.array(array, order="C")
            for observer in self._observers
            for name, array in observer.arrays().items()
        }
        arrays["position"] = np.array(dataclasses.astuple(self.position), dtype=np.int64)
        return arrays

    def _restore(self, run: Run) -> None:
        done = [name for name in run.manifest.files if name.startswith("state/") and run.done(name)]
        if not done:
            return
        from safetensors.numpy import load

        newest = max(done)
        arrays = load((run.folder / newest).read_bytes())
        self.position = Position(*arrays.pop("position").tolist())
        self._shards = int(newest.removeprefix("state/").partition(".")[0])
        for observer in self._observers:
            prefix = f"{observer.name}/"
            observer.restore(
                {
                    name.removeprefix(prefix): array
                    for name, array in arrays.items()
                    if name.startswith(prefix)
                }
            )

    @staticmethod
    def _forget_before(run: Run, shard: int) -> None:
        """Take older states off the record, then off the disk."""
        old = [name for name in run.manifest.files if name.startswith("state/") and name < _state_name(shard)]
        if old:
            run.record(files={name: record for name, record in run.manifest.files.items() if name not in old})
        for name in old:
            (run.folder / name).unlink(missing_ok=True)


def quantities_of(table: pa.Table) -> list[str]:
    """Return the names of the quantities among the columns of a token table."""
    return [name for name in table.column_names if name in QUANTITIES]


def _state_name(shard: int) -> str:
    return f"state/{shard:05d}.safetensors"
