"""What a probe says, in words: ends against middle, neighbouring updates, early stoppers, predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depthlaw.data.text.limit import LEAST_TOKENS
from depthlaw.plurals import counted

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
        Mean theta_update between blocks of the middle; NaN below four blocks, where all pairs have an end.
    alignment
        ``aligned``, ``partly aligned`` or ``far from aligned``; ``None`` below four blocks, and of fewer
        than `LEAST_TOKENS` tokens that count.
    early_share, early_share_low, early_share_high
        Share of tokens in the cluster that stops early, with its interval; NaN when the data do not support a
        second cluster.
    first_among_early
        Share of first tokens of documents among them; NaN without such a cluster.
    """

    first: float
    middle: float
    last: float
    middle_update: float
    alignment: str | None
    early_share: float
    early_share_low: float
    early_share_high: float
    first_among_early: float


def findings(result: ProbeResult) -> Findings:
    """Read the findings off a result."""
    theta = result.layers("theta_state")
    between = float(result.layers("theta_update")[1:-1].mean()) if result.depth > 3 else math.nan
    early = None if result.trajectories is None else result.trajectories.early
    return Findings(
        first=float(theta[0]),
        middle=result.middle(),
        last=float(theta[-1]),
        middle_update=between,
        alignment=_alignment(between) if result.n_counted >= LEAST_TOKENS else None,
        early_share=math.nan if early is None else early.share.value,
        early_share_low=math.nan if early is None else early.share.low,
        early_share_high=math.nan if early is None else early.share.high,
        first_among_early=math.nan if early is None else early.first,
    )


def statements(result: ProbeResult) -> dict[str, str]:
    """Return the sentences by subject: ``ends``, ``updates``, ``early``, ``lens``, as far as there are any.

    Of fewer than `LEAST_TOKENS` tokens that count nothing is said but that, as ``text``.
    """
    if result.n_counted < LEAST_TOKENS:
        few = f"{counted(result.n_counted, 'token')} of {LEAST_TOKENS} at least"
        return {"text": f"Too little text for statements: {few}."}
    found = findings(result)
    said = {}
    if not math.isnan(found.middle):
        said["ends"] = _ends(found)
    if found.alignment is not None:
        said["updates"] = (
            f"Neighbouring updates are {found.alignment}: {found.middle_update:.2f} rad apart on average "
            f"(0 is aligned, {math.pi / 2:.2f} unrelated)."
        )
    if result.trajectories is not None:
        said["early"] = f"Early stoppers: {result.trajectories.statement}"
    if "lens_ce" in result.quantities and result.depth > 1:
        said["lens"] = _lens(result)
    return said


def sentences(result: ProbeResult, *subjects: str) -> tuple[str, ...]:
    """Return the sentences on ``subjects``, as `statements` names them; on all without any."""
    return tuple(line for subject, line in statements(result).items() if subject in (subjects or (subject,)))


def _ends(found: Findings) -> str:
    first, last = (_against(end, found.middle) for end in (found.first, found.last))
    said = f"Ends and middle: the first block turns the state by {found.first:.2f} rad"
    between = f"the blocks between ({found.middle:.2f} on average)"
    if first == last:
        return f"{said} and the last by {found.last:.2f}, {first} {between}."
    return f"{said}, {first} {between}; the last by {found.last:.2f}, {last} they do."


def _lens(result: ProbeResult) -> str:
    direct = result.settings["lens"] == "direct"
    ce = result.layers("lens_ce")
    gains, middle = -np.diff(ce), (ce[0] + ce[-1]) / 2
    half = f"; half of that is gained after {int(np.argmax(ce <= middle))} of {result.depth} blocks"
    return (
        f"Prediction: read {'directly' if direct else 'through the last block'}, the state before the first "
        f"block gives {ce[0]:.2f} nats a token and the model itself {ce[-1]:.2f}"
        f"{half if ce[0] > ce[-1] else ''}. Of the {len(gains)} blocks{'' if direct else ' before the last'} "
        f"{int((gains > 0).sum())} gain, block {int(gains.argmax()) + 1} most ({gains.max():.2f})."
    )


def _against(end: float, middle: float) -> str:
    if end > 1.25 * middle:
        return "more than"
    return "about as much as" if end > 0.8 * middle else "less than"


def _alignment(angle: float) -> str | None:
    if math.isnan(angle):
        return None
    return "aligned" if angle < ALIGNED else "far from aligned" if angle > FAR else "partly aligned"
