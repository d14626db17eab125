"""What it takes to reach a loss, or that nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from depthlaw.planning.support import Distance


class Answer(StrEnum):
    """Whether a loss can be reached."""

    REACHED = "reached"
    UNREACHABLE = "unreachable"
    NOT_DETERMINED = "not-determined"


@dataclass(frozen=True)
class Reach:
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
