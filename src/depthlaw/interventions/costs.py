"""Plans on any stack with any loss: laboratory students, say, whose target is a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from depthlaw.interventions.execution import execute
from depthlaw.interventions.generators import expand_plans
from depthlaw.interventions.plan import Plan
from depthlaw.tensors.stack import Stack


@dataclass(frozen=True)
class PlanCosts:
    """What plans cost a network.

    Attributes
    ----------
    plans
        What was run.
    intact
        Mean loss of the intact network, in the unit of the loss.
    cost
        (plans,) mean change of the loss.
    stderr
        (plans,) its standard error over samples, paired with the intact network; NaN for one.
    distance
        (plans,) mean squared change of an output coordinate.
    samples
        How many.
    """

    plans: tuple[Plan, ...]
    intact: float
    cost: NDArray[np.float64]
    stderr: NDArray[np.float64]
    distance: NDArray[np.float64]
    samples: int


@torch.no_grad()
def plan_costs(
    stack: Stack[Any],
    inputs: Any,
    plans: Sequence[str | Plan],
    loss: Callable[[Tensor], Tensor],
    *,
    samples: int = 5,
    seed: int = 0,
) -> PlanCosts:
    """Run plans on a network and take their losses on the same samples.

    Parameters
    ----------
    stack
        A laboratory student, or anything that speaks the protocol.
    inputs
        As its ``capture`` takes them.
    plans
        `Plan`, orders such as ``"0-4,6-"``, or generators such as ``"skip each"``.
    loss
        Outputs (rows, positions, outputs) → losses, one a sample, any shape.
    samples, seed
        Of ``shuffle middle``.

    Raises
    ------
    UsageError
        For plans that are not understood.
    """
    found: list[Plan] = []
    for plan in plans:
        found += (
            [plan]
            if isinstance(plan, Plan)
            else expand_plans([plan], stack.depth, samples=samples, seed=seed)
        )
    trace = stack.capture(inputs)
    whole = stack.finish(trace.states[-1]).double()
    base = loss(whole).double().flatten()
    changes, distances = [], []
    for plan in found:
        output = stack.finish(execute(stack, trace, plan)).double()
        changes.append(loss(output).double().flatten() - base)
        distances.append(float((output - whole).square().mean()))
    change = torch.stack(changes)
    n = change.shape[1]
    error = change.std(dim=1) / n**0.5 if n > 1 else torch.full((len(found),), float("nan"))
    return PlanCosts(
        tuple(found),
        float(base.mean()),
        change.mean(dim=1).cpu().numpy(),
        error.cpu().numpy(),
        np.asarray(distances),
        n,
    )
