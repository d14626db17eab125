"""What plans do to a model's predictions, token by token, beside the intact model's on the same tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from depthlaw.interventions.execution import execute
from depthlaw.interventions.plan import Plan
from depthlaw.tensors.cross_entropy import CHUNK, predict
from depthlaw.tensors.stack import Stack, Trace

GROUP = 12
"""Plans whose last states are held at once: the intact prediction is made once for all of them."""


@dataclass(frozen=True)
class Scores:
    """Predictions under plans, nats.

    Attributes
    ----------
    intact
        (tokens,) cross-entropy of the intact model.
    cross_entropy
        (plans, tokens).
    divergence
        (plans, tokens) KL(intact ‖ plan).
    agrees
        (plans, tokens) whether the most likely next token is the same.
    """

    intact: Tensor
    cross_entropy: Tensor
    divergence: Tensor
    agrees: Tensor


def score(
    stack: Stack[Any],
    trace: Trace,
    plans: Sequence[Plan],
    counted: Tensor,
    targets: Tensor,
    ran: Callable[[int], None] = lambda count: None,
) -> Scores:
    """Run plans on a captured pass and read what they predict.

    Parameters
    ----------
    trace
        Of the intact model, with whole states (rows, positions, width).
    counted
        (rows, positions) bool, which tokens to read.
    targets
        (tokens,) int64 next tokens of those.
    ran
        Called after each plan with the number of plans that have run.
    """
    last = trace.states[-1][counted]

    def final(number: int) -> Tensor:
        state = execute(stack, trace, plans[number])[counted]
        ran(number + 1)
        return state

    numbers = range(len(plans))
    parts = [
        _read([final(number) for number in numbers[start : start + GROUP]], last, targets, stack.finish)
        for start in range(0, max(len(plans), 1), GROUP)
    ]
    return Scores(
        parts[0].intact,
        torch.cat([part.cross_entropy for part in parts]),
        torch.cat([part.divergence for part in parts]),
        torch.cat([part.agrees for part in parts]),
    )


def _read(
    finals: Sequence[Tensor], last: Tensor, targets: Tensor, finish: Callable[[Tensor], Tensor]
) -> Scores:
    shape = (len(finals), len(targets))
    # float64 for the sums over documents that follow; the values have the precision of the logits.
    intact = last.new_empty(len(targets), dtype=torch.float64)
    cross_entropy, divergence = intact.new_empty(shape), intact.new_empty(shape)
    agrees = torch.empty(shape, dtype=torch.bool, device=last.device)
    for start in range(0, len(targets), CHUNK):
        rows = slice(start, start + CHUNK)
        reading = predict(finish(last[rows]))
        best = reading.shifted.argmax(-1)
        intact[rows] = reading.cross_entropy(targets[rows]).double()
        for plan, final in enumerate(finals):
            other = predict(finish(final[rows]))
            cross_entropy[plan, rows] = other.cross_entropy(targets[rows]).double()
            divergence[plan, rows] = reading.divergence_of(other).double()
            agrees[plan, rows] = other.shifted.argmax(-1) == best
    return Scores(intact, cross_entropy, divergence, agrees)
