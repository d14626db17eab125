"""The whole pass: summaries, folders, kills, memory, what is left behind."""

import copy
import dataclasses
import random

import numpy as np
import pyarrow as pa
import pytest
import torch

import depthlaw
from depthlaw.errors import ConfigError, InputError, UsageError
from depthlaw.models import adopt
from depthlaw.probe import keep, run
from depthlaw.probe.columns import QUANTITIES
from depthlaw.probe.config import ProbeConfig
from depthlaw.probe.run import probe
from depthlaw.probe.table import layers_of

SETTINGS = {"batch_size": 4, "max_length": 40}


@pytest.fixture
def short_shards(monkeypatch):
    monkeypatch.setattr(keep, "SHARD_TOKENS", 150)


class Killed(BaseException):
    """As a signal would: nothing may catch it."""


def killer(after):
    def progress(documents, tokens):
        nonlocal after
        after -= 1
        if after < 0:
            raise Killed

    return progress


def test_a_lens_keeps_more_often(lm, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(keep, "SHARD_TOKENS", 400)
    shards = {}
    for lens in (False, True):
        out = tmp_path / str(lens)
        probe(lm, texts, lens=lens, out=out, **SETTINGS)
        shards[lens] = len(list((out / "tokens").iterdir()))
    assert shards[True] > shards[False]


def test_the_package_is_the_verb(lm, texts):
    result = depthlaw.probe(lm, texts, **SETTINGS)
    assert result.n_counted == sum(len(text) - 1 for text in texts if len(text) <= 40) + 39 * sum(
        len(text) > 40 for text in texts
    )
    assert "tiny-llama" in result._repr_html_()
    with pytest.raises(UsageError, match="kept no tokens"):
        result.tokens()


@pytest.mark.parametrize("batching", ["documents", "packed"])
def test_progress_tells_documents_and_tokens_as_they_go(lm, texts, batching):
    told = []
    result = probe(lm, texts, progress=lambda *done: told.append(done), batching=batching, **SETTINGS)
    assert told == sorted(set(told))
    assert told[-1] == (len(texts), result.n_tokens)
    assert 0 < told[0][0] <= 8


def test_the_summary_says_what_the_tokens_say(lm, texts):
    result = probe(lm, texts, tokens=True, lens=True, **SETTINGS)
    table = result.tokens()
    first = np.array(table.column("is_first"))
    document = np.array(table.column("document"))
    groups = {"all": np.ones(len(first), bool), "first": first, "rest": ~first}
    assert first.sum() == len(texts) == result.n_documents
    for name in result.quantities:
        values = layers_of(table, name).astype(np.float64).reshape(len(first), -1)
        for group, rows in groups.items():
            np.testing.assert_allclose(result.layers(name, tokens=group), values[rows].mean(0), rtol=1e-9)
            np.testing.assert_allclose(
                result.layers(name, "sd", group), values[rows].std(0, ddof=1), rtol=1e-6, atol=1e-12
            )
            median = result.layers(name, "q50", group)
            exact = np.quantile(values[rows], 0.5, axis=0, method="inverted_cdf")
            slack = result.layers(name, "resolution", group)
            assert (np.abs(median - exact) <= slack + 1e-12).all(), (name, group)
    # Tokens of a document are not independent: the error counts documents.
    theta = layers_of(table, "theta_state").astype(np.float64)
    mean = theta.mean(0)
    parts = np.array([(theta[document == d] - mean).sum(0) for d in np.unique(document)])
    g = len(parts)
    expected = np.sqrt(g / (g - 1) * (parts**2).sum(0)) / len(theta)
    np.testing.assert_allclose(result.layers("theta_state", "stderr"), expected, rtol=1e-6)
    middle = theta[:, 1:-1].mean(1)
    # Histograms resolve 0.005 rad.
    low, high = (float((middle < result.stopping.threshold + d).mean()) for d in (-0.005, 0.005))
    assert low <= result.stopping.share <= high


def rows_of(result):
    return result.tokens()


def test_a_folder_holds_what_memory_holds(lm, texts, tmp_path, short_shards):
    in_memory = probe(lm, texts, tokens=True, **SETTINGS)
    kept = probe(lm, texts, out=tmp_path / "run", **SETTINGS)
    assert len(list((tmp_path / "run" / "tokens").glob("*.parquet"))) > 2
    assert rows_of(kept).equals(rows_of(in_memory))
    assert kept.summary.equals(in_memory.summary)
    # Asked again, nothing is computed.
    stamp = (tmp_path / "run" / "manifest.json").stat().st_mtime_ns
    again = probe(lm, texts, out=tmp_path / "run", progress=killer(0), **SETTINGS)
    assert again.summary.equals(kept.summary)
    assert (again.n_tokens, again.n_documents, again.stopping) == (
        kept.n_tokens,
        kept.n_documents,
        kept.stopping,
    )
    assert (tmp_path / "run" / "manifest.json").stat().st_mtime_ns == stamp


@pytest.mark.parametrize("batching", ["documents", "packed"])
@pytest.mark.parametrize("seed", range(3))
def test_killed_ten_times_and_finished_gives_the_same_bytes(
    lm, texts, tmp_path, short_shards, batching, seed
):
    settings = {**SETTINGS, "batching": batching, "lens": "direct"}
    whole = probe(lm, texts, out=tmp_path / "whole", **settings)
    draw = random.Random(seed)
    kills = 0
    while True:
        try:
            # Later attempts live longer, so that there is an end.
            done = probe(
                lm, texts, out=tmp_path / "run", progress=killer(draw.randint(0, 2 + kills // 4)), **settings
            )
            break
        except Killed:
            kills += 1
    assert kills >= 3
    assert rows_of(done).equals(rows_of(whole))
    assert done.summary.equals(whole.summary)
    for name in [
        *(f"tokens/{path.name}" for path in (tmp_path / "whole/tokens").iterdir()),
        "summary.parquet",
    ]:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert len(list((tmp_path / "run" / "state").iterdir())) == 1


def test_no_tokens_leaves_the_table_out_but_goes_on_all_the_same(lm, texts, tmp_path, short_shards):
    settings = {**SETTINGS, "tokens": False}
    whole = probe(lm, texts, **settings)
    with pytest.raises(Killed):
        probe(lm, texts, out=tmp_path / "run", progress=killer(5), **settings)
    done = probe(lm, texts, out=tmp_path / "run", **settings)
    assert done.summary.equals(whole.summary)
    assert not (tmp_path / "run" / "tokens").exists()


def test_other_settings_in_the_same_folder_are_refused(lm, texts, tmp_path):
    probe(lm, texts[:4], out=tmp_path / "run", **SETTINGS)
    with pytest.raises(ConfigError, match="other settings: lens"):
        probe(lm, texts[:4], out=tmp_path / "run", lens=True, **SETTINGS)
    with pytest.raises(ConfigError, match="text"):
        probe(lm, texts[:5], out=tmp_path / "run", **SETTINGS)


def test_a_model_in_memory_with_other_weights_does_not_take_the_folder_of_the_first(lm, texts, tmp_path):
    """Their class, their name and the place they came from may all be the same."""
    probe(lm, texts[:4], out=tmp_path / "run", **SETTINGS)
    other = copy.deepcopy(lm)
    with torch.no_grad():
        other.model.model.layers[1].mlp.up_proj.weight.zero_()
    with pytest.raises(ConfigError, match="another run: the model changed"):
        probe(other, texts[:4], out=tmp_path / "run", **SETTINGS)


def test_a_folder_with_another_identity_of_the_model_is_refused_not_continued(lm, texts, tmp_path):
    """As folders are whose model was told apart in another way by an earlier version."""
    before = dataclasses.replace(lm, identity={"weights": "a1b2"})
    probe(before, texts[:4], out=tmp_path / "run", **SETTINGS)
    with pytest.raises(ConfigError, match="holds another run: the model changed") as caught:
        probe(lm, texts[:4], out=tmp_path / "run", **SETTINGS)
    assert "--no-resume" in caught.value.hint
    assert probe(lm, texts[:4], out=tmp_path / "run", resume=False, **SETTINGS).n_documents == 4


def test_results_do_not_move_with_the_batch_size(lm, texts):
    one, many = (probe(lm, texts, batch_size=size, max_length=40) for size in (1, 9))
    for name in one.quantities:
        np.testing.assert_allclose(one.layers(name), many.layers(name), rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("family", ["llama", "gpt_neox"])
def test_in_16_bit_single_tokens_move_with_the_batch_size_by_rounding_and_means_by_far_less(
    make_lm, texts, family, dtype
):
    """States come out of the model rounded, and how depends on the shape of the batch; nothing else does.

    ``eps`` is the spacing of numbers at 1. A state that is rounded otherwise in a few blocks moves by some
    eps; such errors of n tokens have no common sign and leave eps/√n in their mean. Sums in 16 bit would be
    off by eps.
    """

    def in_order(result):
        return rows_of(result).sort_by([("document", "ascending"), ("position", "ascending")])

    whole = make_lm(family)
    lm = adopt(copy.deepcopy(whole.model).to(dtype), whole.tokenizer)
    eps = torch.finfo(dtype).eps
    settings = {"max_length": 40, "tokens": True, "lens": True}
    one, *others = (probe(lm, texts, batch_size=size, **settings) for size in (1, 4, 9))
    for many in others:
        for name in one.quantities:
            mean, other = one.layers(name), many.layers(name)
            bound = eps / np.sqrt(one.n_counted) * np.abs(mean).max()
            assert np.abs(other - mean).max() <= bound, name
        for name in ("theta_state", "theta_update", "norm_state", "lens_ce"):
            single, moved = (layers_of(in_order(result), name) for result in (one, many))
            assert np.abs(moved - single).max() <= 4 * eps * np.abs(single).max(), name


def test_auto_is_resolved_once_and_kept(lm, texts, tmp_path, monkeypatch):
    settings = {"batch_size": "auto", "max_length": 40}
    monkeypatch.setattr(run, "likely_batch_size", lambda *_, **__: 8)
    with pytest.raises(Killed):
        probe(lm, texts, out=tmp_path / "run", progress=killer(1), **settings)
    # Another machine would have room for more; the run goes on as it began.
    monkeypatch.setattr(run, "likely_batch_size", lambda *_, **__: 16)
    assert probe(lm, texts, out=tmp_path / "run", **settings).settings["batch_size"] == 8
    assert probe(lm, texts, **settings).settings["batch_size"] == 16


def only(rows, kind=torch.OutOfMemoryError):
    """`see` on a device with room for so many rows."""
    honest = run.see

    def see(lm, batch, measuring):
        if len(batch.input_ids) > rows:
            raise kind("CUDA out of memory." if kind is not MemoryError else "")
        return honest(lm, batch, measuring)

    return see


@pytest.mark.parametrize("kind", [torch.OutOfMemoryError, MemoryError, RuntimeError])
@pytest.mark.parametrize("batching", ["documents", "packed"])
def test_a_batch_that_does_not_fit_is_measured_in_halves(lm, texts, monkeypatch, kind, batching):
    settings = {"batch_size": 8, "max_length": 40, "batching": batching, "tokens": True}
    whole = probe(lm, texts, **settings)
    monkeypatch.setattr(run, "see", only(2, kind))
    parts = probe(lm, texts, **settings)
    assert (
        rows_of(parts)
        .select(["document", "position"])
        .equals(rows_of(whole).select(["document", "position"]))
    )
    for name in whole.quantities:
        for statistic in ("mean", "stderr"):
            np.testing.assert_allclose(
                parts.layers(name, statistic), whole.layers(name, statistic), rtol=1e-4, atol=1e-5
            )


def test_auto_halves_until_it_fits():
    from depthlaw.probe.memory import fitting_batch_size

    tried = []

    def attempt(rows):
        tried.append(rows)
        if rows > 3:
            raise torch.OutOfMemoryError("out of memory")

    assert fitting_batch_size(16, attempt) == 2
    assert tried == [16, 8, 4, 2]
    with pytest.raises(InputError, match="not even one row"):
        fitting_batch_size(4, lambda rows: attempt(rows + 4))
    with pytest.raises(ZeroDivisionError):
        fitting_batch_size(4, lambda rows: 1 / 0)


def test_states_that_are_not_finite_are_counted_by_layer_not_averaged(lm, texts):
    clean = probe(lm, texts, **SETTINGS)
    hit = []

    def overflow(_module, args, output):
        if not hit:
            hit.append(True)
            output = output.clone()
            output[0, 0] = float("inf")
        return output

    handle = lm.blocks[2].register_forward_hook(overflow)
    try:
        result = probe(lm, texts, **SETTINGS)
    finally:
        handle.remove()
    assert result.layers("norm_state", "nonfinite").tolist() == [0, 0, 0, 1, 39]
    # One token is hit; in the next block, attention hands it to the later ones.
    assert [notice.code for notice in result.notices] == ["nonfinite"]
    assert "from layer 3 on" in result.notices[0].message
    for name in ("theta_state", "norm_state"):
        assert np.isfinite(result.layers(name)).all()
        np.testing.assert_allclose(result.layers(name), clean.layers(name), rtol=0.05)


def test_documents_longer_than_the_models_context_are_cut_with_a_notice(lm):
    result = probe(lm, ["ab" * 200], batch_size=1)
    assert result.settings["max_length"] == 64
    assert (result.n_cut, result.n_tokens) == (1, 64)
    assert [notice.code for notice in result.notices] == ["context"]


def test_the_model_is_as_before_after_success_and_after_an_exception(lm, texts):
    def look():
        tables = ("_forward_hooks", "_forward_pre_hooks")
        return [
            (name, module.training, [len(getattr(module, t)) for t in tables])
            for name, module in lm.model.named_modules()
        ], [(p.device, p.dtype, p.requires_grad) for p in lm.model.parameters()]

    lm.model.train()
    try:
        before = look()
        probe(lm, texts[:5], **SETTINGS)
        assert look() == before
        with pytest.raises(Killed):
            probe(lm, texts[:5], progress=killer(0), **SETTINGS)
        assert look() == before
    finally:
        lm.model.eval()


def test_nothing_to_measure_and_no_tokenizer_are_said(lm):
    with pytest.raises(InputError, match="no document has two tokens"):
        probe(lm, ["a", "", "b"], **SETTINGS)
    with pytest.raises(InputError, match="has no tokenizer"):
        probe(dataclasses.replace(lm, tokenizer=None), ["abc"], **SETTINGS)
    with pytest.raises(ConfigError, match="lenz: unknown key; did you mean lens"):
        probe(lm, ["abc"], config=ProbeConfig(), lenz=True)
    with pytest.raises(ConfigError, match='max_length: expected a whole number, got "5"'):
        probe(lm, ["abc"], max_length="5")
    with pytest.raises(UsageError, match="cannot be made of int"):
        probe(3, ["abc"])


def test_shallow_models_have_no_middle_but_a_result(make_lm, texts):
    for depth in (1, 2):
        result = probe(make_lm(depth=depth), texts[:6], **SETTINGS)
        assert np.isnan(result.middle())
        assert "theta_middle" not in result.quantities
        assert result.layers("theta_state").shape == (depth,)
        assert result._repr_html_()


def test_an_observer_sees_every_batch_once_even_when_killed(lm, texts, tmp_path, short_shards):
    class Counter:
        name = "counter"

        def __init__(self):
            self.tokens = 0
            self.total = np.zeros(lm.depth)

        def observe(self, seen):
            assert seen.states[0].shape == (seen.n_tokens, lm.width)
            self.tokens += seen.n_tokens
            self.total += seen.columns["theta_state"].sum(0, dtype=np.float64)

        def arrays(self):
            return {"tokens": np.asarray(self.tokens), "total": self.total}

        def restore(self, arrays):
            self.tokens, self.total = int(arrays["tokens"]), arrays["total"]

    with pytest.raises(Killed):
        probe(lm, texts, out=tmp_path / "run", observers=[Counter()], progress=killer(6), **SETTINGS)
    counter = Counter()
    result = probe(lm, texts, out=tmp_path / "run", observers=[counter], **SETTINGS)
    assert counter.tokens == result.n_counted
    np.testing.assert_allclose(counter.total / counter.tokens, result.layers("theta_state"))


def test_every_column_has_a_unit_and_a_meaning(lm, texts, tmp_path):
    result = probe(lm, texts[:5], out=tmp_path / "run", lens=True, mode="paper", **SETTINGS)
    table = result.tokens()
    assert set(table.column_names) >= set(result.quantities)
    for name in result.quantities:
        assert QUANTITIES[name].unit in ("rad", "1", "nats")
        assert layers_of(table, name).reshape(len(table), -1).shape[1] == len(result.layers(name))
        field = table.schema.field(name)
        assert pa.types.is_fixed_size_list(field.type) or field.type == pa.float32()


def test_layers_answers_unknown_names(lm, texts):
    result = probe(lm, texts[:5], **SETTINGS)
    with pytest.raises(UsageError, match="theta_state"):
        result.layers("theta_stat")
    with pytest.raises(UsageError, match="stderr"):
        result.layers("theta_state", "std_err")
    with pytest.raises(UsageError, match="rest"):
        result.layers("theta_state", tokens="later")
