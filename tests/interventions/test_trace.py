"""Whole traces on a small real model: tables, resumption, files, the command."""

import json

import numpy as np
import pytest

from depthlaw.cli.app import main
from depthlaw.errors import InputError, UsageError
from depthlaw.interventions import grouping
from depthlaw.interventions.grouping import in_groups
from depthlaw.interventions.prompts import Prompt
from depthlaw.interventions.trace import as_prompts, causal_trace
from depthlaw.interventions.trace_config import TraceConfig

PROMPTS = (
    Prompt("Lily and Tom went to the park. Tom saw", "Lily", "a", "lily"),
    Prompt("Once upon a time there was a little", "Once", "girl", "once"),
    Prompt("The dog was very", "dog", "happy", "dog"),
)


@pytest.mark.data
def test_traces_do_not_depend_on_company_or_interruption(stories, tmp_path):
    settings = {"samples": 3, "restore": ("block", "mlp"), "noise": "0.5", "batch_size": 8}
    together = causal_trace(stories, PROMPTS, **settings)
    assert together.kinds == ("block", "mlp")
    assert [row["id"] for row in together.rows] == ["lily", "once", "dog"]
    alone = causal_trace(stories, PROMPTS[0], **settings)
    np.testing.assert_allclose(alone.map(0), together.map(0), rtol=1e-5)
    once = together.rows[1]
    # <s> and the words before are clean already; the last block matters only where the target is read.
    values, effect = together.map(1), together.effect(1)
    assert values.shape == (5, once["predict"] + 1)
    np.testing.assert_array_equal(effect[:, : once["subject_first"]], 0)
    np.testing.assert_array_equal(effect[-1, :-1], 0)
    assert values[-1, -1] == once["p_clean"]
    assert together.map(1, column="probability_stderr")[-1, -1] == 0
    assert together.effects("block").prompts.max() == 3

    told = []

    def stop(done, all_of_them):
        told.append(done)
        if done >= 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        causal_trace(stories, PROMPTS, out=tmp_path / "run", progress=stop, **settings)
    assert 0 < told[0] < 1, "nothing is said until a group is done"
    assert told == sorted(told)
    again = causal_trace(stories, PROMPTS, out=tmp_path / "run", **settings)
    assert again.cells.equals(together.cells)
    assert again.prompts.equals(together.prompts)


@pytest.mark.data
@pytest.mark.parametrize("kept", [True, False])
def test_a_trace_goes_on_where_batches_are_larger(stories, tmp_path, monkeypatch, kept):
    """Every prompt once, in the groups it began with and, when these are lost, without."""
    settings = {"samples": 2, "noise": "0.5"}
    whole = causal_trace(stories, PROMPTS, **settings)
    monkeypatch.setattr(grouping, "_BATCH_TOKENS", {"cpu": 64})

    def stop(done, all_of_them):
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        causal_trace(stories, PROMPTS, out=tmp_path, progress=stop, **settings)
    if not kept:
        (tmp_path / "batch_tokens.json").unlink()
    monkeypatch.setattr(grouping, "_BATCH_TOKENS", {"cpu": 128})
    again = causal_trace(stories, PROMPTS, out=tmp_path, **settings)
    assert [row["id"] for row in again.rows] == ["lily", "once", "dog"]
    for prompt in range(3):
        np.testing.assert_allclose(again.map(prompt), whole.map(prompt), rtol=1e-4)
    assert json.loads((tmp_path / "batch_tokens.json").read_text()) == {"batch_tokens": 64 if kept else 128}


@pytest.mark.data
def test_several_target_tokens_and_other_subjects(stories):
    first = causal_trace(stories, *_parts(PROMPTS[1]), samples=2, noise="t", other=("Tim", "A big dog"))
    whole = causal_trace(
        stories, *_parts(PROMPTS[1]), samples=2, noise="t", other=("Tim", "A big dog"), read="all"
    )
    assert first.rows[0]["target_tokens"] > 1
    assert next(notice.code for notice in first.notices) == "target-tokens"
    assert whole.rows[0]["p_clean"] < first.rows[0]["p_clean"]
    span = causal_trace(stories, *_parts(PROMPTS[1]), samples=2, span="subject", noise="u3")
    assert span.map(0).shape == (5, 1)
    assert span.effects() is None


@pytest.mark.data
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_invariants_hold_in_16_bit(models_dir, dtype):
    settings = {"samples": 2, "restore": ("block", "attention", "mlp"), "dtype": dtype, "device": "cpu"}
    found = causal_trace("stories260K", PROMPTS[:2], **settings)
    assert found.dtype == dtype
    assert max(row["invariant_difference"] for row in found.rows) <= 1e-2


@pytest.mark.data
def test_a_result_shows_itself_in_a_notebook(stories):
    shown = causal_trace(stories, *_parts(PROMPTS[0]), samples=2)._repr_html_()
    assert "<table>" in shown
    assert "Lily" in shown


@pytest.mark.data
def test_a_prompt_beyond_the_models_context_is_refused(stories):
    long = Prompt("Tim saw a dog. " + "It was a big dog. " * 150 + "The dog was", "Tim", "happy", "long")
    with pytest.raises(InputError, match=r"long: the prompt has \d{3,4} tokens .*; stories260K takes 512"):
        causal_trace(stories, (PROMPTS[0], long), samples=1)


@pytest.mark.data
def test_another_subject_without_tokens_is_none(stories):
    with pytest.raises(UsageError, match="has no tokens"):
        causal_trace(stories, PROMPTS[:1], noise="t", other=("",), samples=1)


def _parts(prompt):
    return prompt.prompt, prompt.subject, prompt.target


def test_groups_of_prompts_fit_their_batches():
    class Placed:
        def __init__(self, length):
            self.ids, self.subject, self.predict = tuple(range(length)), (1, 3), length - 2

    placed = [Placed(n) for n in (5, 20, 9, 9, 7, 30)]
    groups = in_groups(placed, TraceConfig(samples=4, batch_size=10), 0)
    assert sorted(n for members, _ in groups for n in members) == list(range(6))
    assert groups[0][0][0] == 5
    assert all(len(members) <= 2 and rows == 10 for members, rows in groups)
    for members, rows in in_groups(placed, TraceConfig(samples=4), 512):
        cells = 4 * sum(placed[n].predict for n in members)
        assert rows * -(-cells // rows) - cells < rows


@pytest.mark.parametrize("family", ["Gemma2", "Gemma3Text"])
def test_the_unit_of_noise_is_the_embeddings_output_where_it_is_scaled(family):
    """These families multiply what their table of embeddings gives by √width: noise of its size is lost."""
    import torch
    import transformers

    from depthlaw.models import adopt

    width = 64
    sizes = {"vocab_size": 384, "hidden_size": width, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**sizes, **heads)
    model = getattr(transformers, f"{family.removesuffix('Text')}ForCausalLM")(config)
    lm = adopt(model.eval(), transformers.ByT5Tokenizer(), name=family)
    states = []
    handle = lm.blocks[0].register_forward_pre_hook(
        lambda _module, args, named: states.append((*args, *named.values())[0].detach().clone()),
        with_kwargs=True,
    )
    prompt = Prompt("The Space Needle is in downtown Seattle", "Space Needle", "Seattle")
    try:
        found = causal_trace(lm, prompt, samples=10, batch_size=11)
    finally:
        handle.remove()
    row = found.rows[0]
    subject = slice(row["subject_first"], row["subject_end"])
    # The first pass: the clean row and ten draws. Scaling lies between the table and the first block.
    clean, *drawn = (state[subject] for state in states[0])
    assert found.unit == pytest.approx(float(clean.std()), rel=1e-5)
    noise = torch.stack(drawn) - clean
    assert float(noise.std()) == pytest.approx(3 * float(clean.std()), rel=0.03)
    table = model.get_input_embeddings().weight[lm.tokenizer(prompt.subject)["input_ids"][:-1]].detach()
    assert found.unit == pytest.approx(width**0.5 * float(table.std()), rel=1e-4)


def test_what_cannot_be_meant(lm_of):
    with pytest.raises(UsageError, match="needs a subject and a target"):
        as_prompts("A b", "b", None)
    with pytest.raises(UsageError, match="samples"):
        TraceConfig(samples=0)
    with pytest.raises(UsageError, match="noise"):
        TraceConfig(noise="z")


@pytest.mark.data
def test_the_command(models_dir, capsys, tmp_path):
    words = ["trace", "stories260K", "--device", "cpu", "--samples", "2"]
    one = ["--prompt", "Lily and Tom went to the park. Tom saw", "--subject", "Lily", "--target", "a"]
    assert main([*words, *one, "--dry-run"]) == 0
    capsys.readouterr()
    assert main([*words, *one, "--out", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "invariants hold" in out
    assert "restored block output" in out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"cells.parquet", "prompts.parquet", "result.json", "trace_0_block.svg"} <= names
    file = tmp_path / "prompts.jsonl"
    lines = [{"prompt": p.prompt, "subject": p.subject, "target": p.target} for p in PROMPTS]
    file.write_text("\n".join(json.dumps(line) for line in [*lines, *lines]))
    assert main([*words, "--prompts", str(file), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert len(payload["prompts"]) == 6
    assert payload["effects"]["block"]["all"]["prompts"][0] == 6
    assert main([*words, "--prompt", "A b c", "--subject", "x", "--target", "d"]) == 3
    assert "tokens: [" in capsys.readouterr().err
    assert main(words) == 2
    assert "(--prompt and --subject and --target missing)" in capsys.readouterr().err
    assert main([*words, "--prompt", "A b c", "--subject", "b", "--target", ""]) == 2
    assert "the target is empty" in capsys.readouterr().err
    assert main([*words, "--prompts", str(file), "--occurrence", "1"]) == 2
