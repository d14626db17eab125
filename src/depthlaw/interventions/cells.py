"""Which states to restore, and which of them can change what is read: the causal cone.

Restoring a token before the subject, or behind the last one that is read, changes nothing: what is there is
clean already, or nobody looks. A block output restored in the last block is only seen at the tokens read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from depthlaw.interventions.positions import Placed
from depthlaw.interventions.trace_config import Kind


class Cone(StrEnum):
    """What is known of a cell without running it."""

    COMPUTE = "compute"
    CORRUPTED = "corrupted"
    CLEAN = "clean"


@dataclass(frozen=True)
class Cell:
    """One restoration.

    Attributes
    ----------
    prompt
        Its number.
    kind
        What is restored.
    block, token
        How the table calls it.
    first, last
        Blocks restored, both included.
    positions
        Tokens restored.
    cone
        Whether it has to be run.
    """

    prompt: int
    kind: Kind
    block: int
    token: int
    first: int
    last: int
    positions: tuple[int, ...]
    cone: Cone


def reads_of(placed: Placed, read: Literal["first", "all"]) -> tuple[int, ...]:
    """Tokens whose next token is read."""
    count = 1 if read == "first" else len(placed.target)
    return tuple(range(placed.predict, placed.predict + count))


def cells_of(
    number: int,
    placed: Placed,
    depth: int,
    kinds: Sequence[Kind],
    window: int,
    span: int | Literal["subject"],
    read: Literal["first", "all"],
) -> list[Cell]:
    """Every cell of a prompt: kinds × blocks × tokens up to the one that predicts the target."""
    reads = reads_of(placed, read)
    begin, end = placed.subject
    spans = (
        [(begin, tuple(range(begin, end)))]
        if span == "subject"
        else [(at, tuple(range(at, min(at + span, reads[-1] + 1)))) for at in range(placed.predict + 1)]
    )
    found = []
    for kind in kinds:
        for block in range(depth):
            first, last = window_of(block, window, depth)
            for token, positions in spans:
                cone = cone_of(kind, first, last, positions, placed.subject[0], reads, depth)
                found.append(Cell(number, kind, block, token, first, last, positions, cone))
    return found


def window_of(block: int, window: int, depth: int) -> tuple[int, int]:
    """First and last block of ``window`` blocks around one, cut at the ends; an even one leans upwards."""
    return max(0, block - (window - 1) // 2), min(depth - 1, block + window // 2)


def cone_of(
    kind: Kind,
    first: int,
    last: int,
    positions: Sequence[int],
    subject: int,
    reads: Sequence[int],
    depth: int,
) -> Cone:
    """Say what is known of a restoration without running it.

    Parameters
    ----------
    subject
        First token of the subject.
    reads
        Tokens that are read.
    """
    seen = [at for at in positions if subject <= at <= reads[-1]]
    if not seen or (first == depth - 1 and not set(seen) & set(reads)):
        return Cone.CORRUPTED
    if kind == "block" and last == depth - 1 and set(reads) <= set(positions):
        return Cone.CLEAN
    return Cone.COMPUTE
