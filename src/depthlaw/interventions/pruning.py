"""Which neighbouring blocks to drop: measured cost first, with what the criteria would have said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from depthlaw.errors import InputError, UsageError
from depthlaw.interventions.plan import Plan, order

if TYPE_CHECKING:
    from depthlaw.interventions.ablation import Ablation


@dataclass(frozen=True)
class Drop:
    """The best window of blocks to leave out.

    Attributes
    ----------
    dropped
        Blocks left out.
    kept
        Blocks that stay, in order.
    delta_ce, stderr
        What it costs, nats per token, and its standard error over documents.
    by_criterion
        First block of the window that each criterion would leave out.
    """

    dropped: tuple[int, ...]
    kept: tuple[int, ...]
    delta_ce: float
    stderr: float
    by_criterion: Mapping[str, int]

    @property
    def plan(self) -> Plan:
        """What is left, as a plan."""
        name = f"drop {self.dropped[0]}-{self.dropped[-1]}"
        return Plan(name, order(self.kept), "skip", self.dropped[0], len(self.dropped))


def best_drop(result: Ablation, size: int) -> Drop:
    """Find the window of ``size`` neighbouring blocks whose absence costs least.

    Raises
    ------
    UsageError
        When not every window was measured.
    InputError
        When none has a cost.
    """
    windows = result.windows(size)
    if "delta_ce" not in windows:
        raise UsageError(f"not every window of {size} blocks was measured.", f'Run "skip window {size}".')
    if not np.isfinite(windows["delta_ce"]).any():
        raise InputError(
            f"without {size} neighbouring blocks no prediction is finite, whichever they are.",
            "--dtype bfloat16 and float32 hold larger numbers than float16.",
        )
    first = _least(windows["delta_ce"])
    dropped = tuple(range(first, first + size))
    place = next(
        n
        for n, plan in enumerate(result.plans)
        if plan.kind == "skip" and (plan.first, plan.size) == (first, size)
    )
    return Drop(
        dropped=dropped,
        kept=tuple(block for block in range(result.depth) if block not in dropped),
        delta_ce=float(result.delta_ce[place]),
        stderr=float(result.to_table().column("delta_ce_stderr")[place].as_py()),
        by_criterion={name: _least(found) for name, found in windows.items() if np.isfinite(found).any()},
    )


def _least(values: NDArray[np.float64]) -> int:
    """Place of the smallest value that is known."""
    return int(np.argmin(np.where(np.isfinite(values), values, np.inf)))


def mergekit_yaml(plan: Plan, model: str, dtype: str) -> str:
    """Write a plan as a mergekit configuration that anyone can run.

    Mergekit's ``layer_range`` counts from 0 and does **not** run its end, unlike plans here.

    Raises
    ------
    UsageError
        For blocks side by side, which no such model has.
    """
    if not plan.sequential:
        raise UsageError(f'plan "{plan.name}" runs blocks side by side; no layer list can say that.')
    slices = "".join(
        f"  - sources:\n      - model: {model}\n"
        f"        layer_range: [{begin}, {end}]  # blocks {begin} to {end - 1}\n"
        for begin, end in _ranges(plan.executed)
    )
    return f"slices:\n{slices}merge_method: passthrough\ndtype: {dtype}\n"


def _ranges(blocks: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return half-open ranges of blocks that follow each other."""
    ranges: list[tuple[int, int]] = []
    for block in blocks:
        if ranges and ranges[-1][1] == block:
            ranges[-1] = (ranges[-1][0], block + 1)
        else:
            ranges.append((block, block + 1))
    return ranges
