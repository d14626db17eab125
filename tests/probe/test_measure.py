"""One batch: what is measured is what its definition says, of the right tokens."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from depthlaw.data.text.batches import Batching, read_batches
from depthlaw.data.text.opening import open_text
from depthlaw.errors import InputError
from depthlaw.models import Tokens
from depthlaw.probe.measure import Measuring, refuse_dead_layers, see
from depthlaw.tensors.geometry import measure


def batch_of(lm, texts, **options):
    options = {"batch_size": len(texts), **options}
    return next(iter(read_batches(open_text(texts), lm.tokenizer, Batching(**options))))


def single_states(lm, text):
    ids = torch.tensor(lm.tokenizer([text])["input_ids"])
    return [state[0] for state in lm.capture(Tokens(ids)).states], ids[0]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("lens", ["none", "block"])
def test_every_token_but_the_last_of_a_document_as_if_it_were_alone(lm, texts, side, lens):
    some = texts[:5]
    seen = see(lm, batch_of(lm, some, padding_side=side), Measuring(lens))
    for index, text in enumerate(some):
        states, ids = single_states(lm, text)
        rows = seen.document == index
        alone = measure([state[:-1] for state in states])
        assert seen.position[rows].tolist() == list(range(len(ids) - 1))
        assert seen.token_id[rows].tolist() == ids[:-1].tolist()
        assert seen.is_first[rows].tolist() == [True] + [False] * (len(ids) - 2)
        for name, value in vars(alone).items():
            np.testing.assert_allclose(seen.columns[name][rows], value.T, rtol=1e-4, atol=1e-5, err_msg=name)
        torch.testing.assert_close(seen.states[-1][rows], states[-1][:-1], rtol=1e-4, atol=1e-5)


def test_packed_rows_are_one_context(lm, texts):
    batch = batch_of(lm, texts[:6], kind="packed", max_length=32, batch_size=3)
    seen = see(lm, batch, Measuring("block"))
    row = batch.input_ids[0]
    states = [state[0] for state in lm.capture(Tokens(torch.tensor(row[None]))).states]
    here = batch.has_successor[0]
    count = int(here.sum())
    alone = measure([state[torch.from_numpy(here)] for state in states])
    np.testing.assert_allclose(seen.columns["theta_state"][:count], alone.theta_state.T, atol=1e-5)
    # The last token of a document is followed by another document's first: it does not count.
    assert count < 31


@pytest.mark.parametrize("lens", ["block", "direct"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_lens_ends_at_the_models_own_loss(lm, texts, lens, side):
    some = texts[:5]
    seen = see(lm, batch_of(lm, some, padding_side=side), Measuring(lens))
    ce = seen.columns["lens_ce"]
    assert ce.shape[1] == (lm.depth if lens == "block" else lm.depth + 1)
    for index, text in enumerate(some):
        _, ids = single_states(lm, text)
        logits = lm.logits(Tokens(ids[None]))[0]
        own = nn.functional.cross_entropy(logits[:-1], ids[1:], reduction="none")
        np.testing.assert_allclose(ce[seen.document == index, -1], own, rtol=1e-5, atol=1e-5)
    assert (seen.columns["lens_kl"][:, -1] == 0).all()
    assert (seen.columns["lens_kl"][:, :-1] > 0).all()
    assert (seen.columns["lens_entropy"] > 0).all()


def test_a_direct_lens_is_the_head_on_that_state(lm, texts):
    seen = see(lm, batch_of(lm, texts[:1]), Measuring("direct"))
    states, ids = single_states(lm, texts[0])
    for layer, state in enumerate(states):
        expected = nn.functional.cross_entropy(lm.finish(state[:-1]), ids[1:], reduction="none")
        np.testing.assert_allclose(seen.columns["lens_ce"][:, layer], expected, rtol=1e-5, atol=1e-5)


def test_the_normed_last_state_has_a_name_of_its_own(lm, texts):
    seen = see(lm, batch_of(lm, texts[:4]))
    normed = lm.normed(seen.states[-1])
    cosine = nn.functional.cosine_similarity(seen.states[-2].double(), normed.double(), dim=-1)
    np.testing.assert_allclose(seen.columns["theta_state_normed"], cosine.acos(), rtol=1e-3)
    np.testing.assert_allclose(seen.columns["norm_state_normed"], normed.norm(dim=-1), rtol=1e-5)
    assert not np.allclose(seen.columns["theta_state_normed"], seen.columns["theta_state"][:, -1])
    middle = seen.columns["theta_state"][:, 1:-1].mean(1)
    np.testing.assert_allclose(seen.columns["theta_middle"], middle, rtol=1e-6)


def test_paper_mode_adds_the_published_numerics_beside(lm, texts):
    batch = batch_of(lm, texts[:6])
    plain, both = see(lm, batch), see(lm, batch, Measuring(mode="paper"))
    for name, value in plain.columns.items():
        np.testing.assert_array_equal(value, both.columns[name])
    theta = both.columns["paper_theta_state"]
    np.testing.assert_allclose(theta[:, -1], plain.columns["theta_state_normed"], atol=0.1)
    assert not ((theta > 0) & (theta < 0.085)).any()
    assert both.columns["paper_norm_state"].shape == plain.columns["norm_state"].shape


def test_the_published_script_for_one_family_let_the_last_block_see_the_future(make_lm, texts):
    neox = make_lm("gpt_neox")
    text, changed = texts[3], texts[3][:-2] + "zz"
    lens = Measuring("block", "paper")
    a, b = see(neox, batch_of(neox, [text]), lens), see(neox, batch_of(neox, [changed]), lens)
    early = slice(0, len(text) - 3)
    np.testing.assert_allclose(a.columns["lens_ce"][early], b.columns["lens_ce"][early], atol=1e-5)
    unmasked = np.abs(a.columns["paper_lens_ce"][early, :-1] - b.columns["paper_lens_ce"][early, :-1])
    assert unmasked.max() > 1e-3
    llama = make_lm("llama")
    causal = see(llama, batch_of(llama, [text]), lens)
    np.testing.assert_array_equal(causal.columns["paper_lens_ce"], causal.columns["lens_ce"])


def test_a_batch_without_a_token_that_counts(lm):
    seen = see(lm, batch_of(lm, ["a", "b"]), Measuring("block", "paper"))
    assert seen.n_tokens == 0
    assert seen.columns["theta_state"].shape == (0, lm.depth)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda state: torch.zeros_like(state), "block 2 gives nothing but zeros"),
        (lambda state: torch.ones_like(state), "block 2 gives the same state for 9 different tokens"),
    ],
)
def test_dead_layers_are_refused(spoil, said):
    states = [torch.randn(9, 4) for _ in range(4)]
    refuse_dead_layers(states, np.arange(9))
    # One token many times may well have one state.
    refuse_dead_layers([torch.ones(9, 4)], np.zeros(9))
    states[2] = spoil(states[2])
    with pytest.raises(InputError, match=said):
        refuse_dead_layers(states, np.arange(9))


def test_a_dead_layer_of_a_model_stops_the_pass(lm, texts):
    handle = lm.blocks[1].register_forward_hook(lambda _m, _a, out: torch.zeros_like(out))
    try:
        with pytest.raises(InputError, match="block 2 gives nothing but zeros"):
            see(lm, batch_of(lm, texts[:3]))
    finally:
        handle.remove()


def test_rows_of_a_batch_do_not_meet(lm, texts):
    together = see(lm, batch_of(lm, texts[:6]), Measuring("block"))
    batch = batch_of(lm, texts[:6])
    for begin in range(0, 6, 2):
        part = see(lm, dataclasses.replace(batch.rows(begin, begin + 2)), Measuring("block"))
        for index in part.documents:
            for name, value in together.columns.items():
                expected, got = value[together.document == index], part.columns[name][part.document == index]
                np.testing.assert_allclose(got, expected, rtol=1e-3, atol=2e-5, err_msg=name)
