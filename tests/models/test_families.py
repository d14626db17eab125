"""Every family: states, padding, replay, lenses, causality, hooks."""

import pytest
import torch
from torch import nn

from depthlaw.errors import InputError
from depthlaw.models import Tokens
from depthlaw.tensors.cross_entropy import cross_entropy
from depthlaw.tensors.geometry import measure
from depthlaw.tensors.stack import run_blocks, run_from

SHORT = [5, 17, 33, 8, 61]
LONG = [40, 3, 22, 90, 11, 54, 7, 29, 66, 13, 71]


def batch(side: str) -> Tokens:
    """Two documents of different length in one batch."""
    gap = len(LONG) - len(SHORT)
    pads, real = [0] * gap, [True] * len(SHORT)
    short = [*pads, *SHORT] if side == "left" else [*SHORT, *pads]
    mask = [False] * gap + real if side == "left" else real + [False] * gap
    return Tokens(torch.tensor([short, LONG]), torch.tensor([mask, [True] * len(LONG)]))


def model_loss(lm, ids):
    """(tokens − 1,) the model's own next-token cross-entropy, from its own forward pass."""
    logits = lm.logits(Tokens(ids))[0]
    return nn.functional.cross_entropy(logits[:-1].float(), ids[0, 1:], reduction="none")


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_batch_equals_single_runs(lm, side):
    tokens = batch(side)
    if side == "left" and lm.checks.minds_left_padding:
        with pytest.raises(InputError, match="Pad on the right"):
            lm.capture(tokens)
        return
    trace = lm.capture(tokens)
    for row, ids in enumerate((SHORT, LONG)):
        alone = lm.capture(Tokens(torch.tensor([ids])))
        together = [state[row][tokens.mask[row]] for state in trace.states]
        single = [state[0] for state in alone.states]
        for a, b in zip(together, single, strict=True):
            assert float((a - b).abs().max()) <= 1e-3 * float(b.abs().mean())
        one, other = measure(together), measure(single)
        for name in ("theta_state", "theta_update", "theta_final"):
            assert float((getattr(one, name) - getattr(other, name)).abs().max()) <= 1e-5, name


def test_only_one_of_the_families_lets_left_padding_into_its_memory(lm, family):
    assert lm.checks.minds_left_padding == (family == "recurrent-gemma")


def test_states_are_the_raw_stream(lm):
    """h_0 is what the first block gets, the last state what the last block returns, before any norm."""
    seen = {}
    hooks = [
        lm.blocks[0].register_forward_pre_hook(
            lambda _, args, kwargs: seen.update(first=(args or tuple(kwargs.values()))[0].clone()),
            with_kwargs=True,
        ),
        lm.blocks[-1].register_forward_hook(
            lambda _, args, out: seen.update(last=(out if torch.is_tensor(out) else out[0]).clone())
        ),
    ]
    trace = lm.capture(Tokens(torch.tensor([LONG])))
    for hook in hooks:
        hook.remove()
    assert len(trace.states) == lm.depth + 1 == 4
    assert torch.equal(trace.states[0], seen["first"])
    assert torch.equal(trace.states[-1], seen["last"])


@pytest.mark.parametrize("side", ["left", "right"])
def test_blocks_run_again_with_their_own_arguments(lm, side):
    if side == "left" and lm.checks.minds_left_padding:
        return
    trace = lm.capture(batch(side))
    for layer in range(lm.depth + 1):
        again = run_from(lm, trace, layer)
        torch.testing.assert_close(again[1], trace.states[-1][1], rtol=1e-5, atol=1e-5)


def test_lenses_end_at_the_models_own_loss(lm):
    ids = torch.tensor([LONG])
    own = model_loss(lm, ids)
    trace = lm.capture(Tokens(ids))
    last = lm.depth - 1
    through = run_blocks(lm, trace.states[last], trace.calls, [last])
    for state in (through, trace.states[-1]):
        loss = cross_entropy(state[0, :-1], ids[0, 1:], lm.finish)
        torch.testing.assert_close(loss, own, rtol=1e-5, atol=1e-5)
    # And a lens on a lower state says something else.
    lower = cross_entropy(trace.states[1][0, :-1], ids[0, 1:], lm.finish)
    assert float((lower - own).abs().max()) > 1e-3


def test_the_last_token_moves_nothing_before_it(lm):
    changed = [*LONG[:-1], 55]
    a = lm.capture(Tokens(torch.tensor([LONG])))
    b = lm.capture(Tokens(torch.tensor([changed])))
    for before, after in zip(a.states, b.states, strict=True):
        torch.testing.assert_close(before[:, :-1], after[:, :-1], rtol=1e-5, atol=1e-6)
        assert not torch.equal(before[:, -1], after[:, -1])


def hooks_of(model):
    tables = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
    return [(name, [list(getattr(m, t)) for t in tables], m.training) for name, m in model.named_modules()]


def test_the_model_is_left_as_it_was(lm, make, family):
    from depthlaw.models import adopt

    model = make(family)
    model.train()
    try:
        before = hooks_of(model)
        flag = [vars(m).get("_output_capturing_hooks_installed") for m in model.modules()]
        adopt(model)
        lm.capture(Tokens(torch.tensor([LONG])))

        def fail(state):
            raise RuntimeError("no room")

        with pytest.raises(RuntimeError, match="no room"):
            lm.capture(Tokens(torch.tensor([LONG])), pick=fail)
        assert hooks_of(model) == before
        assert [vars(m).get("_output_capturing_hooks_installed") for m in model.modules()] == flag
        assert not any(p.grad is not None for p in model.parameters())
    finally:
        model.eval()


def test_what_the_librarys_last_hidden_state_is(lm, family):
    # Without a norm there is nothing else than the raw state, or what a projection makes of it.
    without = {"opt-projected": "other", "opt-no-final-norm": "raw", "openai-gpt": "raw"}
    assert (lm.roles.final_norm is None) == (family in without)
    assert lm.checks.hidden_states_last == without.get(family, "normed")
    # Mamba leaves the embedding out, so that its entry l is the state l + 1.
    assert lm.checks.hidden_states_first == (1 if family == "mamba" else 0)


def test_editing_the_embedding_moves_the_first_state(lm):
    ids = Tokens(torch.tensor([LONG]))
    clean = lm.capture(ids)
    noisy = lm.capture(ids, edit_embedding=lambda e: torch.cat([e[:, :4], -e[:, 4:5], e[:, 5:]], dim=1))
    moved = (noisy.states[0] - clean.states[0]).abs().amax(-1)[0] > 1e-4
    assert moved.tolist() == [position == 4 for position in range(len(LONG))]
