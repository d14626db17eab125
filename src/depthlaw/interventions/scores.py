"""What plans do to a model's predictions, token by token, beside the intact model's on the same tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from depthlaw.interventions.execution import execute
from depthlaw.interventions.plan import Plan
from depthlaw.tensors.geometry import working
from depthlaw.tensors.stack import Stack, Trace

CHUNK = 256
"""Tokens read at once, see `depthlaw.tensors.cross_entropy`."""
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
        logits = working(finish(last[rows]))
        chosen = targets[rows].unsqueeze(-1)
        norm = logits.logsumexp(-1)
        p = (logits - norm.unsqueeze(-1)).exp()
        best = logits.argmax(-1)
        mean = _dot(p, logits)
        intact[rows] = norm - logits.gather(-1, chosen).squeeze(-1)
        for plan, final in enumerate(finals):
            other = working(finish(final[rows]))
            level = other.logsumexp(-1)
            cross_entropy[plan, rows] = (level - other.gather(-1, chosen).squeeze(-1)).double()
            # Σ p ln(p/q) as (mean of logits) differences: exactly 0 for the same logits.
            divergence[plan, rows] = ((mean - norm) - (_dot(p, other) - level)).double()
            agrees[plan, rows] = other.argmax(-1) == best
    return Scores(intact, cross_entropy, divergence, agrees)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return torch.bmm(a.unsqueeze(1), b.unsqueeze(2)).flatten()
