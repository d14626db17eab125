"""What it takes to reach a loss, or that nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.planning.support import Distance

if TYPE_CHECKING:
    import pyarrow as pa


class Answer(StrEnum):
    """Whether a loss can be reached."""

    REACHED = "reached"
    UNREACHABLE = "unreachable"
    NOT_DETERMINED = "not-determined"


@dataclass(frozen=True, eq=False, repr=False)
class Reach(Shown):
    """What it takes to reach a loss.

    Attributes
    ----------
    loss
        Asked for.
    what
        The quantity solved for: a scale, ``params`` (at the best shape) or ``flops`` (best shape and tokens).
    answer
        Whether it can be reached by the best-fitting law.
    value, low, high
        What it takes, with its interval: ``high`` is infinite when the data do not exclude that it is
        unreachable. ``None`` when unreachable or not determined.
    limit, limit_low, limit_high
        The loss when the quantity grows without end, with its interval.
    at
        The scales there: given, or chosen as best.
    distance
        From the data, of the point that reaches it; ``None`` without one.
    reason
        In words, when not reached.
    how
        How the interval was found.
    """

    loss: float
    what: str
    answer: Answer
    value: float | None
    low: float | None
    high: float | None
    limit: float
    limit_low: float
    limit_high: float
    at: Mapping[str, float]
    distance: Distance | None
    reason: str
    how: str


class Reaches(tuple[Reach, ...]):
    """One answer for each quantity solved for; a tuple that can also be had as a table."""

    __slots__ = ()

    def to_table(self) -> pa.Table:
        """One row an answer, with the scales there as ``at_<scale>``."""
        import pyarrow as pa

        names = ("loss", "what", "answer", "value", "low", "high", "limit", "limit_low", "limit_high")
        columns = {name: [getattr(reach, name) for reach in self] for name in (*names, "reason", "how")}
        columns["answer"] = [str(reach.answer) for reach in self]
        scales = dict.fromkeys(scale for reach in self for scale in reach.at)
        columns |= {f"at_{scale}": [reach.at.get(scale) for reach in self] for scale in scales}
        kinds = {"what": pa.string(), "answer": pa.string(), "reason": pa.string(), "how": pa.string()}
        return pa.table({k: pa.array(v, kinds.get(k, pa.float64())) for k, v in columns.items()})

    def _repr_html_(self) -> str:
        rows = [(r.what, str(r.answer), r.value, (r.low, r.high), r.limit, r.reason) for r in self]
        loss = "".join(f" {reach.loss:g}" for reach in self[:1])
        return result_html(f"what reaches a loss of{loss}", ("", "", "value", "interval", "limit", ""), rows)
