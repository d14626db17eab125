"""What a probe found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.shown import Shown
from depthlaw.errors import Notice, UsageError, unknown_name
from depthlaw.probe.gather import Gathered
from depthlaw.probe.stopping import Stopping
from depthlaw.probe.table import joined

if TYPE_CHECKING:
    import pyarrow as pa

    from depthlaw.probe.trajectories import Trajectories


@dataclass(frozen=True, eq=False, repr=False)
class ProbeResult(Shown):
    """What the layers of a model did to the tokens of a text.

    Attributes
    ----------
    model, text
        As the user named them.
    text_identity
        Hash of what is known of the text's content; ``None`` when nothing is.
    depth, width
        Of the model.
    dtype, device
        Of its states, and where it ran.
    settings
        All settings, ``batch_size`` and ``max_length`` as they were used.
    checks
        What was found of the model at load, see `depthlaw.models.checks.Checks`.
    n_documents, n_empty, n_cut
        Documents read that had text, that had none, and that were longer than ``max_length``.
    n_tokens, n_counted
        Tokens the model saw, and those of them that count: with a successor in the same document.
    summary
        One row for each quantity, group of tokens (``all``, ``rest``, ``first``) and layer: counts, mean, sd,
        standard error over documents, quantiles with their resolution.
    stopping
        How many tokens stop turning early.
    gathered
        What layers have to do with each other: CKA, block influence, angular distance; a sample of tokens.
    notices
        What a reader must know.
    folder
        The run's folder; ``None`` when nothing was kept.
    kept
        Token table of a pass without a folder; ``None`` when tokens were not kept.
    """

    model: str
    text: str
    text_identity: str | None
    depth: int
    width: int
    dtype: str
    device: str
    settings: Mapping[str, Any]
    checks: Mapping[str, Any]
    n_documents: int
    n_empty: int
    n_cut: int
    n_tokens: int
    n_counted: int
    summary: pa.Table
    stopping: Stopping
    gathered: Gathered = field(repr=False)
    notices: tuple[Notice, ...] = ()
    folder: Path | None = None
    kept: pa.Table | None = field(default=None, repr=False)

    def to_table(self) -> pa.Table:
        """Return the summary as a table."""
        return self.summary

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of what was measured."""
        return tuple(dict.fromkeys(self.summary.column("quantity").to_pylist()))

    def layers(self, quantity: str, statistic: str = "mean", tokens: str = "all") -> NDArray[np.float64]:
        """Return one statistic of one quantity, layer by layer.

        Raises
        ------
        UsageError
            For a quantity, statistic or group of tokens that is not in the summary.
        """
        if quantity not in self.quantities:
            raise unknown_name("quantity", quantity, self.quantities)
        if statistic not in self.summary.column_names:
            raise unknown_name("statistic", statistic, self.summary.column_names)
        rows = [
            value
            for name, group, value in zip(
                self.summary.column("quantity").to_pylist(),
                self.summary.column("tokens").to_pylist(),
                self.summary.column(statistic).to_pylist(),
                strict=True,
            )
            if name == quantity and group == tokens
        ]
        if not rows:
            raise unknown_name("group of tokens", tokens, ["all", "rest", "first"])
        return np.array(rows, dtype=np.float64)

    def middle(self, quantity: str = "theta_state", tokens: str = "all") -> float:
        """Return the mean over layers of a quantity's means without the first and the last layer.

        NaN when the model is not deep enough to have a middle.
        """
        inner = self.layers(quantity, tokens=tokens)[1:-1]
        return float(inner.mean()) if len(inner) else float("nan")

    @cached_property
    def trajectories(self) -> Trajectories | None:
        """What the trajectories of a sample of tokens look like, see `depthlaw.probe.trajectories`.

        ``None`` for a model with fewer than three blocks, or too few tokens.
        """
        from depthlaw.probe.trajectories import trajectories

        sample = self.gathered.sample
        if sample is None or self.depth < 3 or len(sample.document) < 2:
            return None
        return trajectories(
            sample.theta_state,
            document=sample.document,
            is_first=sample.is_first,
            is_special=sample.is_special,
            covariance=self.gathered.covariance,
            paper=self.settings["mode"] == "paper",
        )

    def shards(self) -> Iterator[pa.Table]:
        """Yield the token table in parts, in order.

        Raises
        ------
        UsageError
            When tokens were not kept.
        """
        if self.kept is not None:
            yield self.kept
            return
        files = sorted((self.folder / "tokens").glob("*.parquet")) if self.folder else []
        if not files:
            raise UsageError("this probe kept no tokens.", "Probe with out=… and tokens=True.")
        import pyarrow.parquet as pq

        for file in files:
            yield pq.read_table(file)

    def tokens(self) -> pa.Table:
        """Return the whole token table: `shards` joined.

        Raises
        ------
        UsageError
            When tokens were not kept.
        """
        table = joined(self.shards())
        assert table is not None
        return table

    def _repr_html_(self) -> str:
        from depthlaw.probe.profile_html import profile_html

        return profile_html(self)
