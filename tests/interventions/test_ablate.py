"""Whole ablations on a small real model: numbers, resumption, warnings, the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from depthlaw.cli.app import main
from depthlaw.errors import InputError, UsageError
from depthlaw.interventions import ablate as module
from depthlaw.interventions.ablate import ablate
from depthlaw.interventions.execution import run_plan
from depthlaw.interventions.generators import expand_plans
from depthlaw.interventions.pruning import best_drop
from depthlaw.interventions.scores import score
from depthlaw.models import Tokens
from depthlaw.report.ablate import ablate_text, write_ablate

TEXTS = [
    "Once upon a time there was a little girl who liked to play in the park with her dog. It was fun.",
    "Tom had a red ball. He wanted to show it to his friend, but the ball was gone. He was sad.",
    "The cat sat on the mat and looked at the bird in the tree for a very long time. It was happy.",
]


def test_scores_are_those_of_the_logits(lm_of):
    lm = lm_of("gemma2")
    ids = torch.tensor([[40, 3, 22, 90, 11, 54, 7], [8, 61, 33, 17, 5, 2, 44]])
    counted = torch.ones_like(ids, dtype=torch.bool)
    counted[:, -1] = False
    counted[1, 4:] = False
    plans = expand_plans(["0,2-", "0-", "swap neighbours"], lm.depth)
    trace = lm.capture(Tokens(ids))
    targets = ids.roll(-1, 1)[counted]
    found = score(lm, trace, plans, counted, targets)
    own = lm.logits(Tokens(ids))[counted].double().log_softmax(-1)
    torch.testing.assert_close(found.intact, -own.gather(-1, targets[:, None])[:, 0], rtol=1e-5, atol=1e-5)
    for place, plan in enumerate(plans):
        other = run_plan(lm, Tokens(ids), plan)[counted].double().log_softmax(-1)
        expected = -other.gather(-1, targets[:, None])[:, 0]
        torch.testing.assert_close(found.cross_entropy[place], expected, rtol=1e-5, atol=1e-5)
        kl = (own.exp() * (own - other)).sum(-1)
        torch.testing.assert_close(found.divergence[place], kl, rtol=1e-4, atol=1e-5)
        assert torch.equal(found.agrees[place], own.argmax(-1) == other.argmax(-1))
    assert float(found.divergence[1].abs().max()) == 0


def test_scores_keep_their_digits_where_logits_are_far_from_zero(lm_of):
    """Models of some families have them around −300: an offset of all logits that means nothing."""

    class Offset:
        def __init__(self, lm, offset):
            self.lm, self.depth, self.block = lm, lm.depth, lm.block
            self.finish = lambda state: 3 * lm.finish(state) + offset

    lm = lm_of("llama")
    ids = torch.arange(96).reshape(4, 24)
    counted, targets = torch.ones_like(ids, dtype=torch.bool), ids.flatten()
    plans = expand_plans(["0-", "skip each"], lm.depth)
    trace = lm.capture(Tokens(ids))
    near, far = (score(Offset(lm, offset), trace, plans, counted, targets) for offset in (0.0, -300.0))
    assert float(far.divergence[0].abs().max()) == 0
    # Logits around 300 are 3e-5 apart in float32; what is summed must add nothing to that.
    torch.testing.assert_close(far.divergence, near.divergence, rtol=0, atol=6e-5)
    torch.testing.assert_close(far.cross_entropy, near.cross_entropy, rtol=0, atol=6e-5)


@pytest.mark.data
def test_an_ablation_and_its_continuation(stories, tmp_path):
    settings = {"plan": ("skip each", "0-", "0,1,1,2-"), "batch_size": 1, "drop": 2}
    whole = ablate(stories, TEXTS, **settings)
    assert whole.n_documents == 3
    rows = {row["name"]: row for row in whole.to_table().to_pylist()}
    assert rows["0-"]["kl"] == rows["0-"]["delta_ce"] == 0
    assert rows["0-"]["agreement"] == 1
    assert rows["skip 0"]["delta_ce"] > 3 * rows["skip 0"]["delta_ce_stderr"] > 0
    assert rows["0,1,1,2-"]["order"] == "0-1,1-4"
    assert [notice.code for notice in whole.notices] == ["identity"]
    # The error over documents, by hand.
    place = [plan.name for plan in whole.plans].index("skip 1")
    table = [row for row in whole.documents.to_pylist() if row["plan"] == place]
    n, sums = (np.array([row[name] for row in table]) for name in ("tokens", "delta_ce_sum"))
    mean = sums.sum() / n.sum()
    error = np.sqrt(1.5 * ((sums - n * mean) ** 2).sum()) / n.sum()
    assert rows["skip 1"]["delta_ce"] == pytest.approx(mean)
    assert rows["skip 1"]["delta_ce_stderr"] == pytest.approx(error)

    told = []

    def stop(documents, tokens):
        told.append((documents, tokens))
        if documents > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ablate(stories, TEXTS, out=tmp_path / "run", progress=stop, **settings)
    # Every plan, the end of the batch, and the first plan of the next: long batches tell how far they are.
    every = len(whole.plans)
    shares = [*np.arange(1, every + 1) / every, 1, 1 + 1 / every]
    assert [documents for documents, _ in told] == pytest.approx(shares)
    assert (np.diff([tokens for _, tokens in told]) >= 0).all()
    again = ablate(stories, TEXTS, out=tmp_path / "run", **settings)
    assert again.to_table().equals(whole.to_table())
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "done"
    drop = best_drop(whole, 2)
    windows = whole.windows(2)
    assert drop.dropped[0] == int(np.argmin(windows["delta_ce"]))
    assert len(drop.kept) == 3
    assert set(windows) == {"delta_ce", "kl", "block_influence", "angular_distance", "one_minus_cka"}
    agreement = whole.agreement(1)
    assert agreement.places == 5
    np.testing.assert_allclose(np.diag(agreement.correlation), 1)


def killed_after(documents):
    def stop(done, tokens):
        if done > documents:
            raise KeyboardInterrupt

    return stop


@pytest.mark.data
@pytest.mark.parametrize("kept", [True, False])
def test_an_ablation_goes_on_where_batches_are_larger(stories, tmp_path, monkeypatch, kept):
    """Nothing is counted twice or dropped, with the rows it began with and, when these are lost, without."""
    settings = {"plan": ("skip each",), "max_length": 64}
    whole = ablate(stories, TEXTS, **settings, batch_size=1)
    monkeypatch.setattr(module, "_BATCH_TOKENS", {"cpu": 64})
    with pytest.raises(KeyboardInterrupt):
        ablate(stories, TEXTS, out=tmp_path, progress=killed_after(1.9), **settings)
    if not kept:
        (tmp_path / "batch_size.json").unlink()
    monkeypatch.setattr(module, "_BATCH_TOKENS", {"cpu": 128})
    again = ablate(stories, TEXTS, out=tmp_path, **settings)
    assert again.n_documents == 3
    assert again.n_tokens == whole.n_tokens
    assert again.criteria.tokens == whole.criteria.tokens
    np.testing.assert_allclose(again.delta_ce, whole.delta_ce, rtol=1e-5, atol=1e-6)
    rows = json.loads((tmp_path / "batch_size.json").read_text())
    assert rows == {"batch_size": 1 if kept else 2}
    manifest = (tmp_path / "manifest.json").read_bytes()
    assert ablate(stories, TEXTS, out=tmp_path, **settings).to_table().equals(again.to_table())
    assert (tmp_path / "manifest.json").read_bytes() == manifest


class Overflow:
    """A block whose output overflows at a token of the first row, in the passes it is asked to."""

    def __init__(self, block, passes, token=0):
        self.passes, self.token, self.ran = passes, token, 0
        self.handle = block.register_forward_hook(self)

    def __call__(self, module, args, output):
        self.ran += 1
        if self.passes(self.ran):
            output = output.clone()
            output[0, self.token] = float("inf")
        return output

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.handle.remove()


@pytest.mark.data
@pytest.mark.parametrize("block", [2, 4])
def test_tokens_that_are_not_finite_are_left_out_and_counted(stories, tmp_path, block):
    """Half precision ends at 65,504, and real models go beyond; attention hands it to the whole row."""
    settings = {"plan": ("skip each", "swap neighbours"), "batch_size": 1}
    clean = ablate(stories, 2 * TEXTS, **settings)
    with Overflow(stories.blocks[block], lambda ran: ran == 1, token=3):
        found = ablate(stories, 2 * TEXTS, out=tmp_path, **settings)
    row = clean.documents["tokens"][0].as_py()
    lost = row if block == 2 else 1
    assert found.n_documents == (5 if block == 2 else 6)
    assert found.n_tokens == clean.n_tokens - lost
    by_state = [0, 0, 0, 1, row - 1, 0, 0] if block == 2 else [0, 0, 0, 0, 0, 1, 0]
    assert found.criteria.nonfinite.tolist() == by_state
    said = [(notice.code, notice.message) for notice in found.notices]
    words = (
        f"states of {lost} tokens are not finite from layer {block + 1} on; they are left out of everything."
    )
    assert said == [("nonfinite", words)]
    assert np.isfinite(found.delta_ce).all()
    np.testing.assert_allclose(found.delta_ce, clean.delta_ce, rtol=0.4, atol=0.05)
    for name, values in found.criteria.window(1).items():
        assert np.isfinite(values).all(), name
    # A part with fewer tokens than its batch is still that batch's.
    manifest = (tmp_path / "manifest.json").read_bytes()
    again = ablate(stories, 2 * TEXTS, out=tmp_path, **settings)
    assert again.to_table().equals(found.to_table())
    assert again.notices == found.notices
    assert (tmp_path / "manifest.json").read_bytes() == manifest


@pytest.mark.data
def test_a_plan_that_overflows_has_no_cost(stories, tmp_path):
    settings = {"plan": ("skip each", "swap neighbours"), "drop": 1}
    clean = ablate(stories, TEXTS, **settings)
    # After the intact pass, block 2 first runs in the plan "skip 0".
    with Overflow(stories.blocks[2], lambda ran: ran == 2):
        found = ablate(stories, TEXTS, out=tmp_path, finish=write_ablate, **settings)
    assert np.isnan([found.delta_ce[0], found.kl[0], found.to_table()["agreement"][0].as_py()]).all()
    np.testing.assert_array_equal(found.delta_ce[1:], clean.delta_ce[1:])
    assert found.n_tokens == clean.n_tokens
    said = {notice.code: notice.message for notice in found.notices}
    assert said == {
        "nonfinite-plan": 'plan "skip 0": predictions that are not finite, so that there is no cost.'
    }
    assert best_drop(found, 1).dropped == best_drop(clean, 1).dropped
    assert 'plan "skip 0"' in ablate_text(found)


@pytest.mark.data
def test_where_nothing_is_finite_another_dtype_is_advised(stories):
    with Overflow(stories.blocks[2], lambda ran: True), pytest.raises(InputError, match="float32"):
        ablate(stories, TEXTS[:1], plan=("0-",))
    found = ablate(stories, TEXTS, plan=("skip each",))
    place = found.documents.column_names.index("delta_ce_sum")
    none = np.full(found.documents.num_rows, np.nan)
    found = replace(found, documents=found.documents.set_column(place, "delta_ce_sum", [none]))
    assert found.skips is None
    with pytest.raises(InputError, match="no prediction is finite"):
        best_drop(found, 1)


@pytest.mark.data
def test_a_plan_without_effect_warns(stories):
    down = stories.blocks[2].mlp.down_proj.weight
    out = stories.blocks[2].self_attn.o_proj.weight
    kept = down.data.clone(), out.data.clone()
    try:
        down.data.zero_(), out.data.zero_()
        found = ablate(stories, TEXTS[:1], plan=("0-1,3-", "0,2-"))
    finally:
        down.data.copy_(kept[0]), out.data.copy_(kept[1])
    codes = [(notice.code, notice.message) for notice in found.notices]
    assert codes[0][0] == "no-effect"
    assert '"0-1,3-"' in codes[0][1]
    assert "0,2-" not in "".join(message for _, message in codes)


@pytest.mark.data
def test_of_next_to_no_text_blocks_are_not_ranked(stories):
    found = ablate(stories, ["Once upon"])
    assert [notice.code for notice in found.notices] == ["few-tokens", "documents"]
    assert np.isnan(found.agreement().correlation).all()
    said = ablate_text(found)
    assert "rank correlation" not in said
    assert "averaging predicts" not in said


def test_the_same_plan_runs_once():
    plans = expand_plans(["swap neighbours", "swap distance 1", "0-1,3-", "0-1,3-"], 4)
    assert [plan.name for plan in plans] == ["swap 0 1", "swap 1 2", "swap 2 3", "0-1,3-"]


def test_settings_that_cannot_be_meant(lm_of):
    with pytest.raises(UsageError, match="drop"):
        ablate(lm_of("llama"), TEXTS, drop=0)
    with pytest.raises(UsageError, match="AblateConfig is expected as config, not object"):
        ablate(lm_of("llama"), TEXTS, config=object(), drop=2)


@pytest.mark.data
def test_the_command(models_dir, capsys, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n<|endoftext|>\n".join(TEXTS))
    words = ["ablate", "stories260K", "--text", str(text), "--device", "cpu"]
    assert main([*words, "--plan", "0-1,3-", "swap neighbours", "--dry-run"]) == 0
    assert "run 0-1,3-: 0 1 3 4" in capsys.readouterr().out
    saved = tmp_path / "saved"
    assert main([*words, "--drop", "2", "--save", str(saved), "--out", str(tmp_path / "run"), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert len(payload["drop"]["layers"]) == 3
    assert payload["drop"]["mergekit"].startswith("slices:")
    assert json.loads((saved / "config.json").read_text())["num_hidden_layers"] == 3
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"plans.parquet", "documents.parquet", "result.json", "mergekit.yaml", "ablate.txt"} <= names
    assert main([*words, "--drop", "2", "--save", str(saved)]) == 3
    assert "not an empty folder" in capsys.readouterr().err
    assert main([*words, "--plan", "0-9"]) == 2
    assert "no block 9" in capsys.readouterr().err
    assert main([*words, "--plan", "skip each", "--save", str(tmp_path / "no")]) == 2
