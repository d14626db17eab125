from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from depthlaw.tensors.stack import Call, Patch, Stack, Trace, patched, run_blocks, run_from, state_of


@dataclass(frozen=True)
class Toy:
    """A laboratory-like student: normed input, residual blocks scaled by their own captured argument."""

    weights: Tensor  # (depth, width, width)

    @property
    def depth(self) -> int:
        return len(self.weights)

    def capture(self, inputs, *, pick=None, edit_embedding=None) -> Trace:
        state = inputs / inputs.norm(dim=-1, keepdim=True)
        state = edit_embedding(state) if edit_embedding else state
        pick = pick or Tensor.clone
        calls = tuple(Call(kwargs={"gain": 1.0 + b}) for b in range(self.depth))
        states = [pick(state)]
        for index, call in enumerate(calls):
            state = self.block(index, state, call)
            states.append(pick(state))
        return Trace(tuple(states), calls)

    def block(self, index, state, call) -> Tensor:
        return state + call.kwargs["gain"] * torch.tanh(state @ self.weights[index])

    def finish(self, state) -> Tensor:
        return state.sum(-1, keepdim=True)


@pytest.fixture
def toy() -> Stack[Tensor]:
    return Toy(0.3 * torch.randn(4, 6, 6, generator=torch.Generator().manual_seed(0)))


@pytest.fixture
def inputs() -> Tensor:
    return torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))


def test_running_the_blocks_again_gives_the_captured_states(toy, inputs):
    trace = toy.capture(inputs)
    assert torch.equal(run_blocks(toy, trace.states[0], trace.calls), trace.states[-1])
    for layer in range(toy.depth + 1):
        assert torch.equal(run_from(toy, trace, layer), trace.states[-1])


def test_any_order_with_each_blocks_own_arguments(toy, inputs):
    trace = toy.capture(inputs)
    order = [3, 1, 1, 0]
    state = trace.states[0]
    for index in order:
        state = toy.block(index, state, Call(kwargs={"gain": 1.0 + index}))
    assert torch.equal(run_blocks(toy, trace.states[0], trace.calls, order), state)
    assert torch.equal(run_blocks(toy, trace.states[0], trace.calls, []), trace.states[0])


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_block_that_is_not_there_is_refused_before_anything_runs(toy, inputs, wrong):
    trace = toy.capture(inputs)
    with pytest.raises(IndexError, match=f"no block {wrong}: the stack has blocks 0 … 3"):
        run_blocks(toy, trace.states[0], trace.calls, [0, wrong])


def test_patching_reaches_only_what_lies_above(toy, inputs):
    clean = toy.capture(inputs)
    noisy = run_from(toy, clean, 0, clean.states[0] + 1)
    # Everything restored at layer 2: the rest of the pass is the clean one.
    restore = Patch(2, tuple(range(5)), clean.states[2])
    assert torch.equal(run_from(toy, clean, 0, clean.states[0] + 1, edit=restore), clean.states[-1])
    # One position restored in the last state: only there.
    one = run_from(toy, clean, 0, clean.states[0] + 1, edit=Patch(4, (3,), clean.states[4][:, [3]]))
    assert torch.equal(one[:, 3], clean.states[4][:, 3])
    assert torch.equal(one[:, :3], noisy[:, :3])
    # A patch below where the run starts is never seen.
    assert torch.equal(run_from(toy, clean, 3, edit=restore), clean.states[-1])


def test_a_patch_leaves_the_captured_state_alone(toy, inputs):
    trace = toy.capture(inputs)
    before = trace.states[1].clone()
    both = patched(Patch(1, (0,), torch.zeros(1, 1, 6)), Patch(1, (1,), torch.ones(1, 1, 6)))
    seen = both(1, trace.states[1])
    assert torch.equal(trace.states[1], before)
    assert seen[:, 0].abs().sum() == 0
    assert bool((seen[:, 1] == 1).all())


def test_the_state_is_found_in_whatever_a_block_returns():
    state = torch.ones(2, 3, 4)
    for output in (state, (state, None), [state], {"hidden_states": state, "other": 1}):
        assert state_of(output) is state
    for nothing in ((), None, {}, (None, state)):
        with pytest.raises(TypeError, match="where its state should be"):
            state_of(nothing)
