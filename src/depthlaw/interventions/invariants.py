"""What must hold in every run, computed and not assumed: the three invariants of causal tracing.

Restoring a token before the subject, or behind what is read, gives the corrupted value; the last block at the
tokens read gives the clean value; the last block anywhere else gives the corrupted value. They fail when
blocks are replayed with wrong arguments, when a family mixes what should not mix, when rows of a batch
influence each other, or when numerics depend on the batch shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from depthlaw.errors import InputError
from depthlaw.interventions.cells import Cell, Cone
from depthlaw.interventions.passes import Passes
from depthlaw.interventions.positions import Placed
from depthlaw.interventions.trace_config import Kind
from depthlaw.interventions.tracing import run_rows
from depthlaw.models import LanguageModel
from depthlaw.models.sublayers import Sublayers


@dataclass(frozen=True)
class Check:
    """A cell whose value is known.

    Attributes
    ----------
    cell
        To be run.
    clean
        Whether the clean value is expected, else the corrupted one.
    words
        What is restored.
    """

    cell: Cell
    clean: bool
    words: str


def tolerance(dtype: torch.dtype) -> float:
    """Relative difference of probabilities that is allowed."""
    return 1e-5 if dtype in (torch.float32, torch.float64) else 1e-2


def assert_invariants(
    lm: LanguageModel,
    passes: Passes,
    group: Sequence[Placed],
    kinds: Sequence[Kind],
    sublayers: Sublayers | None,
) -> float:
    """Run the checks of every prompt of a group in its first draw.

    Returns
    -------
    float
        The largest relative difference.

    Raises
    ------
    InputError
        When one is larger than allowed; names the model.
    """
    checks = [
        check
        for number, placed in enumerate(group)
        for check in checks_of(number, placed, passes, lm.depth, kinds)
    ]
    found = run_rows(lm, passes, [(check.cell, 0) for check in checks], sublayers)[:, 0]
    worst = 0.0
    for check, value in zip(checks, found.tolist(), strict=True):
        expected = float(passes.readings[check.cell.prompt, 0 if check.clean else 1, 0])
        # Of probabilities, from their logarithms: exact however small they are.
        difference = abs(math.expm1(value - expected))
        if not difference <= tolerance(lm.dtype):
            raise InputError(
                f"{lm.name}: tracing is not valid on this model: restoring {check.words} should give the "
                f"{'clean' if check.clean else 'corrupted'} probability {math.exp(expected):.6g} and gives "
                f"{math.exp(value):.6g}.",
                f"Relative difference {difference:.1e}, allowed {tolerance(lm.dtype):.0e}; "
                "try --dtype float32.",
            )
        worst = max(worst, difference)
    return worst


def checks_of(number: int, placed: Placed, passes: Passes, depth: int, kinds: Sequence[Kind]) -> list[Check]:
    """What to check of one prompt."""
    reads = passes.targets[number].positions
    found = []

    def add(kind: Kind, block: int, positions: tuple[int, ...], clean: bool, words: str) -> None:
        cell = Cell(number, kind, block, positions[0], block, block, positions, Cone.COMPUTE)
        found.append(Check(cell, clean, f"{words} ({kind}, block {block})"))

    begin = placed.subject[0]
    outside = begin - 1 if begin > 0 else reads[-1] + 1
    words = "a token before the subject" if begin > 0 else "a token behind the prediction"
    for kind in kinds:
        for block in sorted({0, (depth - 1) // 2}):
            add(kind, block, (outside,), False, words)
    add("block", depth - 1, reads, True, "the token that is read")
    if begin not in reads:
        add("block", depth - 1, (begin,), False, "a token that is not read")
    return found


def tokens_needed(placed: Placed, last_read: int) -> int:
    """Columns that a prompt needs: up to what is read, and one behind where nothing is before the subject."""
    return last_read + 1 + (placed.subject[0] == 0)
