"""Plans on every family: against the model itself, with blocks switched off or repeated by hooks."""

from contextlib import ExitStack

import pytest
import torch

from depthlaw.errors import UsageError
from depthlaw.interventions.execution import execute, run_plan
from depthlaw.interventions.plan import Plan, parse_plan
from depthlaw.models import Tokens
from depthlaw.tensors.stack import Call

IDS = torch.tensor(
    [[40, 3, 22, 90, 11, 54, 7, 29, 66, 13, 71, 5], [8, 61, 33, 17, 5, 2, 44, 9, 80, 31, 6, 12]]
)
MASK = torch.tensor([[True] * 12, [True] * 9 + [False] * 3])


def logits_with(lm, tokens, act):
    """The model's own forward pass with a hook on every block: act(block, state, output) → output or None."""
    with ExitStack() as hooks:
        for number, block in enumerate(lm.blocks):

            def hook(module, args, kwargs, output, number=number):
                state = args[0] if args else kwargs["hidden_states"]
                changed = act(number, state, output)
                if changed is None or torch.is_tensor(output):
                    return changed
                return (changed, *output[1:])

            hooks.callback(block.register_forward_hook(hook, with_kwargs=True).remove)
        return lm.logits(tokens)


@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "padded"])
def test_the_identity_plan_is_the_model(lm, mask):
    tokens = Tokens(IDS, mask)
    own = lm.logits(tokens)
    trace = lm.capture(tokens)
    real = torch.ones_like(IDS, dtype=torch.bool) if mask is None else mask
    for start in (0, 2):
        # Once from h_0 through every block, once from a captured state on.
        plan = parse_plan("0-", lm.depth)
        assert plan.is_identity(lm.depth)
        state = trace.states[start]
        for block in range(start, lm.depth):
            state = lm.block(block, state, trace.calls[block])
        torch.testing.assert_close(lm.finish(state)[real], own[real], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(run_plan(lm, tokens, "0-")[real], own[real], rtol=1e-5, atol=1e-5)


def test_a_repeat_executes_five_blocks(lm, hooks):
    before = hooks(lm.model)
    plan = parse_plan("0,1,1,2,3", lm.depth)
    assert plan.executed == (0, 1, 1, 2, 3)
    tokens = Tokens(IDS)
    run: list[int] = []
    trace = lm.capture(tokens)
    handles = [
        block.register_forward_hook(lambda *_, number=number: run.append(number))
        for number, block in enumerate(lm.blocks)
    ]
    # The first step is the model's own and taken from the pass; run all five to count them.
    state = trace.states[0]
    for block in plan.executed:
        state = lm.block(block, state.clone(), trace.calls[block])
    assert run == [0, 1, 1, 2, 3]
    run.clear()
    final = execute(lm, trace, plan)
    assert run == [1, 2, 3]
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(final, state, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(final, trace.states[-1], rtol=1e-3, atol=1e-3)
    assert hooks(lm.model) == before


@pytest.mark.parametrize("skipped", [0, 1, 3])
def test_a_skip_equals_the_model_with_that_block_switched_off(lm, skipped):
    """Each block keeps its own mask: gemma2's sliding windows stay where they were."""
    tokens = Tokens(IDS)
    plan = Plan("skip", tuple((block,) for block in range(lm.depth) if block != skipped))
    expected = logits_with(lm, tokens, lambda number, state, _: state if number == skipped else None)
    torch.testing.assert_close(run_plan(lm, tokens, plan), expected, rtol=1e-5, atol=1e-5)


def test_gemma2_blocks_keep_their_own_windows(lm_of):
    lm = lm_of("gemma2")
    kinds = lm.model.config.layer_types
    assert kinds == ["sliding_attention", "full_attention"] * 2
    trace = lm.capture(Tokens(IDS))
    kept = [
        id(value)
        for call in trace.calls
        for value in call.kwargs.values()
        if torch.is_tensor(value) and value.dim() == 4
    ]
    assert kept[0] == kept[2] != kept[1] == kept[3]
    # A neighbour's mask would give something else, or the test above would show nothing.
    state = trace.states[2]
    own = lm.block(2, state, trace.calls[2])
    other = lm.block(2, state, Call(trace.calls[1].args, trace.calls[1].kwargs))
    assert float((own - other).abs().max()) > 1e-3


def test_blocks_side_by_side_add_their_updates(lm_of):
    lm = lm_of("llama")
    trace = lm.capture(Tokens(IDS))
    h = trace.states[1]
    updates = [lm.block(block, h, trace.calls[block]) - h for block in (1, 2)]
    expected = lm.block(3, h + sum(updates), trace.calls[3])
    got = execute(lm, trace, parse_plan("0,(1-2),3", lm.depth))
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


def test_what_cannot_be_run_is_refused_before_anything_runs(lm_of):
    lm = lm_of("llama")
    trace = lm.capture(Tokens(IDS))
    with pytest.raises(IndexError, match="no block 7"):
        execute(lm, trace, Plan("wrong", ((0,), (7,))))
    with pytest.raises(UsageError, match="blocks 0 … 3"):
        run_plan(lm, Tokens(IDS), "0-4")
