"""Plans as models of their own."""

import pytest
import torch

from depthlaw.errors import OutputError, UsageError
from depthlaw.interventions.execution import run_plan
from depthlaw.interventions.plan import Plan, parse_plan
from depthlaw.interventions.pruning import mergekit_yaml
from depthlaw.interventions.saving import rebuild, save_plan
from depthlaw.models import Tokens, load_model

IDS = torch.tensor([[40, 3, 22, 90, 11, 54, 7, 29, 66, 13, 71, 5]])


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "llama", "qwen2", "gemma2", "gemma3", "opt"])
def test_a_saved_model_computes_what_the_plan_computes(lm_of, family, tmp_path):
    lm = lm_of(family)
    plan = parse_plan("0,2,3", lm.depth)
    before = {name: value.clone() for name, value in lm.model.state_dict().items()}
    folder = save_plan(lm, plan, tmp_path / "pruned")
    saved = load_model(folder, device="cpu")
    assert saved.depth == 3
    expected = run_plan(lm, Tokens(IDS), plan)
    torch.testing.assert_close(saved.logits(Tokens(IDS)), expected, rtol=1e-5, atol=1e-5)
    if family == "gemma2":
        # Blocks 0, 2 and 3 keep their own kinds; the pattern of a shallower gemma2 would be another.
        kinds = ["sliding_attention", "sliding_attention", "full_attention"]
        assert saved.model.config.layer_types == kinds
    assert lm.model.config.get_text_config().num_hidden_layers == 4
    assert all(torch.equal(before[name], value) for name, value in lm.model.state_dict().items())
    assert (folder / "model.safetensors").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["pruned"]


def test_repeats_are_stored_twice(lm_of):
    lm = lm_of("llama")
    plan = parse_plan("0,1,1,2,3", lm.depth)
    deeper = rebuild(lm, plan.executed)
    with torch.no_grad():
        got = deeper(input_ids=IDS, use_cache=False).logits
    torch.testing.assert_close(got, run_plan(lm, Tokens(IDS), plan), rtol=1e-5, atol=1e-5)


def test_what_cannot_be_saved(lm_of, tmp_path):
    lm = lm_of("llama")
    with pytest.raises(UsageError, match="side by side"):
        save_plan(lm, parse_plan("0,(1-2),3", lm.depth), tmp_path / "no")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    with pytest.raises(OutputError, match="not an empty folder"):
        save_plan(lm, parse_plan("0-2", lm.depth), tmp_path / "full")
    assert not (tmp_path / "no").exists()


def test_mergekit_ranges_leave_out_their_end():
    plan = parse_plan("0-3,8-11,11", 12)
    assert mergekit_yaml(plan, "org/model", "bfloat16") == (
        "slices:\n"
        "  - sources:\n      - model: org/model\n        layer_range: [0, 4]  # blocks 0 to 3\n"
        "  - sources:\n      - model: org/model\n        layer_range: [8, 12]  # blocks 8 to 11\n"
        "  - sources:\n      - model: org/model\n        layer_range: [11, 12]  # blocks 11 to 11\n"
        "merge_method: passthrough\ndtype: bfloat16\n"
    )
    with pytest.raises(UsageError):
        mergekit_yaml(Plan("p", ((0, 1),)), "m", "float32")
