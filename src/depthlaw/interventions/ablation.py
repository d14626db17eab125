"""What an ablation found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.data.text.limit import LEAST_TOKENS
from depthlaw.errors import Notice
from depthlaw.interventions.agreement import Agreement, rank_agreement, windows
from depthlaw.interventions.averaging import Skips, Swaps, middle_skips, middle_swaps
from depthlaw.interventions.criteria import CriteriaSums
from depthlaw.interventions.plan import WHAT_RAN_UNITS, Plan, what_ran
from depthlaw.numerics.clusters import ClusteredMean

if TYPE_CHECKING:
    import pyarrow as pa

PLAN_UNITS = {
    **WHAT_RAN_UNITS,
    "tokens": "1",
    "documents": "1",
    "cross_entropy": "nats per token",
    "delta_ce": "nats per token",
    "delta_ce_stderr": "nats per token",
    "kl": "nats per token",
    "kl_stderr": "nats per token",
    "agreement": "1",
    "agreement_stderr": "1",
}
"""Columns of `Ablation.to_table` with their units."""

DOCUMENT_UNITS = {
    "plan": "1",
    "document": "1",
    "tokens": "1",
    "intact_sum": "nats",
    "delta_ce_sum": "nats",
    "kl_sum": "nats",
    "agree_sum": "1",
}
"""Columns of the table of plans × documents: sums over the tokens of a document."""

NO_EFFECT = 1e-6
"""Nats per token below which a plan has done nothing: block outputs are not reproduced better than that."""


@dataclass(frozen=True, eq=False, repr=False)
class Ablation(Shown):
    """Plans with what they cost, on the same tokens.

    Attributes
    ----------
    model, text
        As the user named them.
    depth
        Blocks of the model.
    dtype
        Of its states.
    plans
        What was run.
    documents
        Table of plans × documents, see `DOCUMENT_UNITS`.
    criteria
        Block influence, angular distance and CKA on the same tokens.
    depth_law
        c and α of the law that the prediction for skips uses.
    drop
        Blocks to leave out, when the best window was searched.
    reading
        What a reader must know of how the text was read.
    """

    model: str
    text: str
    depth: int
    dtype: str
    plans: tuple[Plan, ...]
    documents: pa.Table
    criteria: CriteriaSums
    depth_law: tuple[float, float]
    drop: int | None = None
    reading: tuple[Notice, ...] = ()

    @cached_property
    def _means(self) -> dict[str, ClusteredMean]:
        """(plans,) means over tokens with their errors over documents."""
        columns = {
            name: self.documents.column(name).to_numpy().reshape(-1, len(self.plans))
            for name in DOCUMENT_UNITS
            if name not in ("plan", "document")
        }
        counts = columns["tokens"].astype(np.float64)
        return {
            name: ClusteredMean.of(column / counts, counts)
            for name, column in columns.items()
            if name != "tokens"
        }

    @property
    def n_tokens(self) -> int:
        """Tokens whose next token was predicted."""
        return int(self._means["intact_sum"].count[0])

    @property
    def n_documents(self) -> int:
        """Documents they are of."""
        return int(self._means["intact_sum"].clusters[0])

    @property
    def enough(self) -> bool:
        """Whether the text is long enough for statements about the model, see `LEAST_TOKENS`."""
        return self.n_tokens >= LEAST_TOKENS

    @property
    def intact(self) -> float:
        """Cross-entropy of the intact model, nats per token."""
        return float(self._means["intact_sum"].mean[0])

    @property
    def delta_ce(self) -> NDArray[np.float64]:
        """(plans,) change of cross-entropy, nats per token."""
        return self._means["delta_ce_sum"].mean

    @property
    def kl(self) -> NDArray[np.float64]:
        """(plans,) KL(intact ‖ plan), nats per token."""
        return self._means["kl_sum"].mean

    def to_table(self) -> pa.Table:
        """Return one row a plan, see `PLAN_UNITS`."""
        import pyarrow as pa

        delta, kl, agree = (self._means[name] for name in ("delta_ce_sum", "kl_sum", "agree_sum"))
        columns: dict[str, Any] = {
            **what_ran(self.plans),
            "tokens": [self.n_tokens] * len(self.plans),
            "documents": [self.n_documents] * len(self.plans),
            "cross_entropy": self.intact + delta.mean,
            "delta_ce": delta.mean,
            "delta_ce_stderr": delta.stderr,
            "kl": kl.mean,
            "kl_stderr": kl.stderr,
            "agreement": agree.mean,
            "agreement_stderr": agree.stderr,
        }
        return pa.table(columns)

    @property
    def skips(self) -> Skips | None:
        """What single skips of the middle cost, beside the prediction of averaging."""
        return middle_skips(self.plans, self.delta_ce.tolist(), self.depth, self.depth_law)

    @property
    def swaps(self) -> Swaps | None:
        """How the cost of swaps within the middle goes with their distance."""
        return middle_swaps(self.plans, self.kl.tolist(), self.depth)

    def windows(self, size: int) -> Mapping[str, NDArray[np.float64]]:
        """Criteria for every window of ``size`` blocks, (windows,), measured costs first where known."""
        measured = {"delta_ce": self.delta_ce, "kl": self.kl}
        return windows(self.plans, self.depth, size, measured, self.criteria)

    def agreement(self, size: int = 1) -> Agreement:
        """How far the criteria rank windows of ``size`` blocks alike."""
        return rank_agreement(self.windows(size), known=self.enough)

    def _repr_html_(self) -> str:
        names = ("name", "order", "delta_ce", "delta_ce_stderr", "kl", "agreement")
        rows = [[row[name] for name in names] for row in self.to_table().to_pylist()]
        title = (
            f"{self.model}: {self.n_tokens} tokens of {self.n_documents} documents, {self.intact:.3f} nats"
        )
        return result_html(title, names, rows, [notice.message for notice in self.notices])

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader must know."""
        said = [*self.reading, *self._nonfinite()]
        idle = (np.abs(self.delta_ce) <= NO_EFFECT) & (self.kl <= NO_EFFECT)
        for plan, nothing in zip(self.plans, idle, strict=True):
            if plan.is_identity(self.depth):
                said.append(Notice("identity", f'plan "{plan.name}" is the intact model.'))
            elif nothing:
                message = f'plan "{plan.name}" ({plan.text()}) has no effect at all: take it for a bug first.'
                said.append(Notice("no-effect", message))
        if not self.enough:
            message = (
                f"{self.n_tokens} tokens are too little to rank blocks or to test averaging ({LEAST_TOKENS} "
                "at least)."
            )
            said.append(Notice("few-tokens", message))
        if self.n_documents < 2:
            said.append(Notice("documents", "one document: no standard errors."))
        return tuple(said)

    def _nonfinite(self) -> list[Notice]:
        """Say what was left out, and which plans have no cost."""
        said = []
        by_state = self.criteria.nonfinite
        if lost := int(by_state.sum()):
            first = int(np.flatnonzero(by_state)[0])
            where = f"states of {lost} tokens are not finite from layer {first} on"
            if first > self.depth:
                where = f"predictions of {lost} tokens are not finite"
            said.append(Notice("nonfinite", f"{where}; they are left out of everything."))
        known = np.isfinite(self.delta_ce) & np.isfinite(self.kl)
        if none := [plan.name for plan, has in zip(self.plans, known, strict=True) if not has]:
            which = f'plan "{none[0]}"' + (f" and {len(none) - 1} more" if len(none) > 1 else "")
            message = f"{which}: predictions that are not finite, so that there is no cost."
            said.append(Notice("nonfinite-plan", message))
        return said
