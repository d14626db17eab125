"""A layer plan: which blocks run, in which order. ``0-7,12,12,8-11,13-`` is one, its ranges inclusive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depthlaw.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Step = tuple[int, ...]
"""Blocks that read the same state and whose updates are added; nearly always a single one."""

_PART = re.compile(r"(\d+)|(\d*)\s*-\s*(\d*)")
_FORM = 'Write blocks from 0 and inclusive ranges: "0-7,12,12,8-11,13-"; "(4-6)" runs blocks side by side.'

WHAT_RAN_UNITS = dict.fromkeys(("name", "kind", "order", "blocks", "first", "size"), "1")
"""Columns that say what a plan is, in every table of plans, with their units."""


@dataclass(frozen=True)
class Plan:
    """An order of blocks.

    Attributes
    ----------
    name
        As the user wrote it, or as a generator calls it: ``skip 5``.
    steps
        What runs, one step after the other.
    kind
        What is done to the network: ``order``, ``skip``, ``swap``, ``repeat``, ``reverse``, ``parallel``,
        ``shuffle``.
    first
        First block concerned; ``None`` for an order that the user wrote.
    size
        Blocks left out (skip), blocks between a place and its new one (swap); else ``None``.
    """

    name: str
    steps: tuple[Step, ...]
    kind: str = "order"
    first: int | None = None
    size: int | None = None

    @property
    def executed(self) -> tuple[int, ...]:
        """Every block that runs, in order; those side by side one after the other."""
        return tuple(block for step in self.steps for block in step)

    @property
    def sequential(self) -> bool:
        """Whether no blocks run side by side."""
        return all(len(step) == 1 for step in self.steps)

    @property
    def shared(self) -> int:
        """How many blocks run from the first on as in the intact network."""
        for place, step in enumerate(self.steps):
            if step != (place,):
                return place
        return len(self.steps)

    def is_identity(self, depth: int) -> bool:
        """Whether it is the intact network."""
        return self.steps == tuple((block,) for block in range(depth))

    def text(self) -> str:
        """The order in the grammar, as short as it goes: ``0-4,6-11``."""
        return ",".join(_compact(self.steps))

    def listing(self) -> str:
        """The order in full: ``0 1 2 (3 4) 5``."""
        return " ".join(
            str(step[0]) if len(step) == 1 else f"({' '.join(map(str, step))})" for step in self.steps
        )


def parse_plan(text: str, depth: int) -> Plan:
    """Read an order of blocks.

    Parameters
    ----------
    text
        Parts between commas: ``5`` a block, ``3-7`` blocks 3, 4, 5, 6 and 7, ``7-3`` the same backwards,
        ``13-`` from 13 to the last, ``-3`` from the first to 3, ``(4-6)`` or ``(4,5)`` blocks side by side,
        which read the same state and whose updates are added.
    depth
        Blocks of the network.

    Raises
    ------
    UsageError
        For a block that does not exist, or a part that is not understood.
    """
    steps: list[Step] = []
    for part in re.findall(r"\([^()]*\)|[^,()]+|[()]|,(?=\s*(?:,|$))", text):
        inner = part.strip()
        if inner.startswith("(") and inner.endswith(")") and len(inner) > 2:
            steps.append(tuple(_blocks(inner[1:-1].split(","), depth, text)))
        elif inner:
            steps += [(block,) for block in _blocks([inner], depth, text)]
    if not steps:
        raise UsageError(f'plan "{text}" runs no block.', _FORM)
    return Plan(text, tuple(steps))


def what_ran(plans: Sequence[Plan]) -> dict[str, pa.Array | list[Any]]:
    """Return the columns of `WHAT_RAN_UNITS`, one row a plan."""
    import pyarrow as pa

    return {
        "name": [plan.name for plan in plans],
        "kind": [plan.kind for plan in plans],
        "order": [plan.text() for plan in plans],
        "blocks": [len(plan.executed) for plan in plans],
        "first": pa.array([plan.first for plan in plans], pa.int64()),
        "size": pa.array([plan.size for plan in plans], pa.int64()),
    }


def order(blocks: Iterable[int]) -> tuple[Step, ...]:
    """Blocks one after the other, as steps."""
    return tuple((block,) for block in blocks)


def _blocks(parts: Iterable[str], depth: int, text: str) -> list[int]:
    found: list[int] = []
    for part in map(str.strip, parts):
        match = _PART.fullmatch(part)
        if match is None or part == "-":
            raise UsageError(f'plan "{text}": "{part}" is not understood.', _FORM)
        single, low, high = match.groups()
        begin = int(single or low or 0)
        end = int(single or high or depth - 1)
        if wrong := [block for block in (begin, end) if not 0 <= block < depth]:
            raise UsageError(
                f'plan "{text}": there is no block {wrong[0]}; the network has blocks 0 … {depth - 1}.',
                "Blocks count from 0 and both ends of a range run.",
            )
        found += range(begin, end + 1) if begin <= end else range(begin, end - 1, -1)
    return found


def _compact(steps: tuple[Step, ...]) -> list[str]:
    parts: list[str] = []
    place = 0
    while place < len(steps):
        if len(steps[place]) > 1:
            parts.append(f"({','.join(_compact(order(steps[place])))})")
            place += 1
            continue
        run = 1
        for stride in (1, -1):
            run = 1
            while place + run < len(steps) and steps[place + run] == (steps[place][0] + stride * run,):
                run += 1
            if run > 1:
                break
        begin, end = steps[place][0], steps[place + run - 1][0]
        parts.append(str(begin) if run == 1 else f"{begin}-{end}")
        place += run
    return parts
