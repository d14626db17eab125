"""Running a plan on any stack: blocks are called in the plan's order, each with its own captured arguments.

Nothing of the network is edited. Attention kinds, masks and rotary tables come with a block's call, and no
cache is kept, so that a block that runs twice does not meet its own keys.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from depthlaw.interventions.plan import Plan, parse_plan
from depthlaw.tensors.stack import Stack, Trace


def execute(stack: Stack[Any], trace: Trace, plan: Plan) -> Tensor:
    """Run a plan on the inputs of a captured pass.

    Blocks that the plan begins with as the network itself does are not run again: their last state is taken
    from the pass.

    Parameters
    ----------
    trace
        Of the intact network, with whole states.

    Returns
    -------
    Tensor
        (rows, positions, width) raw last state; blocks side by side give h + Σ_b (block_b(h) − h).

    Raises
    ------
    IndexError
        For a block that does not exist.
    """
    if wrong := [block for block in plan.executed if not 0 <= block < stack.depth]:
        raise IndexError(f"no block {wrong[0]}: the stack has blocks 0 … {stack.depth - 1}")
    start = plan.shared
    # A block may write into the state it is given, and the captured one is needed again.
    state = trace.states[start].clone()
    for step in plan.steps[start:]:
        if len(step) == 1:
            state = stack.block(step[0], state, trace.calls[step[0]])
            continue
        total = state.clone()
        for block in step:
            total += stack.block(block, state.clone(), trace.calls[block]) - state
        state = total
    return state


@torch.no_grad()
def run_plan(stack: Stack[Any], inputs: Any, plan: Plan | str) -> Tensor:
    """Run a network with its blocks in another order.

    Parameters
    ----------
    stack
        A `depthlaw.models.LanguageModel`, a laboratory student, or anything that speaks the protocol.
    inputs
        As its ``capture`` takes them; for a language model ``lm.tokens(ids)``.
    plan
        A `Plan`, or an order such as ``"0-4,6-"`` with inclusive ranges.

    Returns
    -------
    Tensor
        (rows, positions, outputs): logits of a language model.

    Raises
    ------
    UsageError
        When the order is not understood.
    """
    if isinstance(plan, str):
        plan = parse_plan(plan, stack.depth)
    return stack.finish(execute(stack, stack.capture(inputs), plan))
