"""What causal tracing found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import Notice, UsageError, unknown_name
from depthlaw.interventions.effects import Effects, average_effects
from depthlaw.interventions.groups import Group, find_groups, is_damaged

if TYPE_CHECKING:
    import pyarrow as pa

TOP = 10
"""A model knows a fact when the target is among its so many most likely tokens."""


@dataclass(frozen=True, eq=False, repr=False)
class TraceResult(Shown):
    """Causal traces of one or many prompts.

    Attributes
    ----------
    model
        As the user named it.
    depth
        Blocks of the model.
    dtype
        Of its states.
    noise
        How subjects were corrupted, in words.
    unit
        One standard deviation of the embedding output at the subject tokens, pooled over all prompts; NaN
        where the noise does not need it.
    samples
        Draws.
    settings
        All settings.
    cells
        One row a cell, see `depthlaw.interventions.trace_table.CELL_UNITS`.
    prompts
        One row a prompt, see `depthlaw.interventions.trace_table.PROMPT_UNITS`.
    notices
        What a reader must know.
    """

    model: str
    depth: int
    dtype: str
    noise: str
    unit: float
    samples: int
    settings: Mapping[str, Any]
    cells: pa.Table
    prompts: pa.Table
    notices: tuple[Notice, ...] = ()

    def to_table(self) -> pa.Table:
        """Return the table of cells."""
        return self.cells

    @property
    def kinds(self) -> tuple[str, ...]:
        """What was restored."""
        return tuple(dict.fromkeys(self.cells.column("kind").to_pylist()))

    @cached_property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The table of prompts, row by row."""
        return tuple(self.prompts.to_pylist())

    @cached_property
    def _maps(self) -> dict[tuple[int, str], dict[str, NDArray[np.float64]]]:
        """(blocks, tokens) of every column, by prompt and kind; the table is in that order."""
        names = ("probability", "probability_stderr", "logit", "logit_stderr", "rank")
        kinds = np.asarray(self.cells.column("kind").to_pylist())
        prompts = self.cells.column("prompt").to_numpy()
        columns = {name: self.cells.column(name).to_numpy() for name in (*names, "token")}
        found = {}
        for row in self.rows:
            for kind in self.kinds:
                mask = (prompts == row["prompt"]) & (kinds == kind)
                found[row["prompt"], kind] = {
                    name: values[mask].reshape(self.depth, -1) for name, values in columns.items()
                }
        return found

    def map(self, prompt: int = 0, kind: str = "block", column: str = "probability") -> NDArray[np.float64]:
        """Return one column of one prompt, (blocks, tokens).

        Raises
        ------
        UsageError
            For a prompt, kind or column that is not in the table.
        """
        if kind not in self.kinds:
            raise unknown_name("kind", kind, self.kinds)
        known = self._maps.get((prompt, kind))
        if known is None:
            raise UsageError(f"there is no prompt {prompt}: prompts are numbered 0 … {len(self.rows) - 1}.")
        if column not in known:
            raise unknown_name("column", column, known)
        return known[column]

    def effect(self, prompt: int = 0, kind: str = "block") -> NDArray[np.float64]:
        """Return p(restored) − p(corrupted), (blocks, tokens), never clipped."""
        corrupted: float = self.rows[prompt]["p_corrupt"]
        return self.map(prompt, kind) - corrupted

    def damaged(self, prompt: int = 0) -> bool:
        """Whether the noise lowered the target's probability, see `is_damaged`."""
        row = self.rows[prompt]
        return is_damaged(row["p_clean"], row["p_corrupt"], row["p_corrupt_stderr"])

    def groups(self, prompt: int = 0, kind: str = "block") -> tuple[Group, ...]:
        """Return the functional groups of one prompt; their tokens are columns of its map.

        None where the noise did no damage: what is not gone cannot be brought back.
        """
        if not self.damaged(prompt):
            return ()
        return find_groups(self.effect(prompt, kind))

    def _repr_html_(self) -> str:
        names = ("text", "subject", "target", "p_clean", "p_corrupt", "p_corrupt_stderr", "rank_clean")
        title = f"{self.model}: {self.depth} blocks, noise {self.noise}, {self.samples} draws"
        rows = [[row[name] for name in names] for row in self.rows]
        return result_html(title, names, rows, [notice.message for notice in self.notices])

    def effects(self, kind: str = "block", *, known_only: bool = False) -> Effects | None:
        """Average over prompts; ``None`` when there are none.

        Parameters
        ----------
        known_only
            Only prompts whose target is among the clean model's ten most likely tokens.
        """
        if self.settings.get("span") == "subject":
            return None
        chosen = [row for row in self.rows if not known_only or row["rank_clean"] <= TOP]
        if not chosen:
            return None
        return average_effects(
            [self.effect(row["prompt"], kind) for row in chosen],
            [(row["subject_first"], row["subject_end"]) for row in chosen],
            [row["predict"] for row in chosen],
        )
