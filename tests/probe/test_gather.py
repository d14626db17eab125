"""What layers have to do with each other: gathered in pieces, with and without first tokens."""

import numpy as np
import pytest
import torch

from depthlaw.probe import gather
from depthlaw.probe.gather import Gathered
from depthlaw.probe.pairs import PAIR_UNITS, pairs_table
from depthlaw.probe.run import probe
from depthlaw.probe.seen import Seen
from depthlaw.tensors.criteria import CkaSums
from depthlaw.tensors.geometry import measure

DEPTH, WIDTH = 3, 12


def seen(n_documents=40, length=6, *, seed=0, sinks=0.0):
    """Tokens of random walks; first tokens are ``sinks`` long in one direction that no block touches."""
    draw = torch.Generator().manual_seed(seed)
    n = n_documents * length
    states = torch.randn(DEPTH + 1, n, WIDTH, generator=draw).cumsum(0)
    position = np.tile(np.arange(length), n_documents)
    is_first = position == 0
    states[:, torch.from_numpy(is_first), 0] += sinks
    theta = measure(list(states)).theta_state.T.numpy()
    norms = states.norm(dim=-1).T.numpy()
    return Seen(
        states=tuple(states),
        columns={"theta_state": theta, "norm_state": norms},
        document=np.repeat(np.arange(n_documents), length) + 1000 * seed,
        position=position,
        token_id=position,
        is_first=is_first,
        is_special=np.zeros(n, dtype=bool),
        documents={},
        complete_below=0,
    )


@pytest.fixture
def every_token(monkeypatch):
    monkeypatch.setattr(gather, "CKA_TOKENS", (10**6, 10**6))


def gathered(*batches):
    found = Gathered()
    for batch in batches:
        found.observe(batch)
    return found


def test_relations_are_those_of_the_tokens(every_token):
    batch = seen(sinks=50.0)
    found = gathered(batch)
    for tokens, rows in (("all", np.ones_like(batch.is_first)), ("rest", ~batch.is_first)):
        relations = found.relations(tokens)
        theta = batch.columns["theta_state"][rows].astype(np.float64)
        np.testing.assert_allclose(relations.influence, (1 - np.cos(theta)).mean(0), rtol=1e-6)
        states = [state[torch.from_numpy(rows)] for state in batch.states]
        np.testing.assert_allclose(relations.cka.value, CkaSums.of(states).cka().value, rtol=1e-6)
        unit = torch.stack([state / state.norm(dim=-1, keepdim=True) for state in states]).double()
        angle = torch.einsum("ktw,ltw->klt", unit, unit).clamp(-1, 1).acos().mean(-1) / np.pi
        np.testing.assert_allclose(relations.distance, angle, atol=1e-3)
        assert relations.n_influence == relations.n_cka == relations.n_distance == rows.sum()


def test_a_few_long_states_decide_cka_and_without_them_it_says_what_layers_do(every_token):
    plain, sinks = gathered(seen(n_documents=100)), gathered(seen(n_documents=100, sinks=1000.0))
    assert sinks.relations("all").cka.value[0, DEPTH] > 0.99
    without = sinks.relations("rest").cka.value
    np.testing.assert_allclose(without, plain.relations("rest").cka.value, atol=1e-6)
    assert without[0, DEPTH] < 0.6


def test_batches_add_up_and_go_through_a_file():
    batches = [seen(seed=seed) for seed in range(3)]
    whole = gathered(*batches)
    half = gathered(batches[0])
    again = Gathered()
    again.restore(half.arrays())
    for batch in batches[1:]:
        again.observe(batch)
    for tokens in ("all", "rest"):
        one, other = whole.relations(tokens), again.relations(tokens)
        np.testing.assert_array_equal(one.influence, other.influence)
        np.testing.assert_array_equal(one.cka.value, other.cka.value)
        np.testing.assert_array_equal(one.distance, other.distance)
        assert (one.n_influence, one.n_cka) == (other.n_influence, other.n_cka)
    theta = np.concatenate([batch.columns["theta_state"] for batch in batches]).astype(np.float64)
    first = np.concatenate([batch.is_first for batch in batches])
    rest = (1 - np.cos(theta[~first])).mean(0)
    np.testing.assert_allclose(whole.relations("rest").influence, rest, rtol=1e-6)


def test_states_that_are_not_finite_and_batches_too_small_are_left_out(every_token):
    batch = seen()
    batch.states[1][3] = torch.inf
    batch.columns["norm_state"][3, 1] = np.inf
    relations = gathered(batch).relations("all")
    assert relations.n_cka == len(batch.document) - 1
    assert np.isfinite(relations.cka.value).all()
    small = gathered(seen(n_documents=4)).relations("rest")
    assert (small.cka, small.n_cka) == (None, 0)
    assert small.n_influence == 20
    assert Gathered().relations("all").influence.shape == (0,)


def test_the_table_holds_both_and_says_what_of(lm, texts):
    result = probe(lm, texts, batch_size=8, max_length=40)
    table = pairs_table(result.gathered)
    assert table.column_names == list(PAIR_UNITS)
    rows = table.to_pylist()
    for tokens in ("all", "rest"):
        relations = result.gathered.relations(tokens)
        mine = {(r["criterion"], r["layer"], r["other"]): r for r in rows if r["tokens"] == tokens}
        states = lm.depth + 1
        assert len(mine) == lm.depth + 2 * states * (states - 1) // 2
        assert mine["cka", 0, 2]["value"] == relations.cka.value[0, 2]
        assert mine["angular_distance", 1, 4]["value"] == relations.distance[1, 4]
        assert mine["block_influence", 3, 4]["value"] == relations.influence[3]
    counted = {r["tokens"]: r["count"] for r in rows if r["criterion"] == "block_influence"}
    assert counted["all"] - counted["rest"] == result.n_documents
