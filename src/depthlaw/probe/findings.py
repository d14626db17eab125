"""What a probe says, in words: ends against middle, neighbouring updates, early stoppers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from depthlaw.probe.result import ProbeResult

ALIGNED, FAR = math.pi / 4, 0.75 * math.pi / 2
"""Below the first, neighbouring updates count as aligned; above the second, as far from aligned."""


@dataclass(frozen=True)
class Findings:
    """The numbers behind the sentences; angles in radians.

    Attributes
    ----------
    first, middle, last
        Mean theta_state of the first block, of the blocks between, and of the last.
    middle_update
        Mean theta_update between blocks of the middle.
    alignment
        ``aligned``, ``partly aligned`` or ``far from aligned``; ``None`` when there are no two updates.
    stop_below
        Half of the middle's mean: a token whose own middle mean lies below counts as stopping early.
    stop_share, stop_share_first
        Share of all tokens and of first tokens that do.
    """

    first: float
    middle: float
    last: float
    middle_update: float
    alignment: str | None
    stop_below: float
    stop_share: float
    stop_share_first: float


def findings(result: ProbeResult) -> Findings:
    """Read the findings off a result."""
    theta = result.layers("theta_state")
    updates = result.layers("theta_update") if result.depth > 1 else np.empty(0)
    inner = updates[1:-1] if len(updates) > 2 else updates
    between = float(inner.mean()) if len(inner) else math.nan
    return Findings(
        first=float(theta[0]),
        middle=result.middle(),
        last=float(theta[-1]),
        middle_update=between,
        alignment=_alignment(between),
        stop_below=result.stopping.threshold,
        stop_share=result.stopping.share,
        stop_share_first=result.stopping.share_of_first,
    )


def sentences(result: ProbeResult) -> tuple[str, ...]:
    """Return the three sentences; fewer for a model too shallow to have a middle."""
    found = findings(result)
    said = []
    if not math.isnan(found.middle):
        ratio = min(found.first, found.last) / found.middle if found.middle else math.inf
        verdict = "more than" if ratio > 1.25 else "about as much as" if ratio > 0.8 else "not more than"
        said.append(
            f"Ends and middle: the first block turns the state by {found.first:.2f} rad and the last by "
            f"{found.last:.2f}, {verdict} the blocks between ({found.middle:.2f} on average)."
        )
    if found.alignment is not None:
        said.append(
            f"Neighbouring updates are {found.alignment}: {found.middle_update:.2f} rad apart on average "
            f"(0 is aligned, {math.pi / 2:.2f} unrelated)."
        )
    if not math.isnan(found.stop_share):
        said.append(
            f"Early stoppers: {_percent(found.stop_share)} of the tokens turn by less than half the mean in "
            f"the middle (below {found.stop_below:.2f} rad); of the first tokens of documents, "
            f"{_percent(found.stop_share_first)} do."
        )
    return tuple(said)


def _alignment(angle: float) -> str | None:
    if math.isnan(angle):
        return None
    return "aligned" if angle < ALIGNED else "far from aligned" if angle > FAR else "partly aligned"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"
