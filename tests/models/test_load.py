"""Loading by folder, name, dtype and device map; refusals that say what is wrong."""

import json
import shutil

import pytest
import torch

from depthlaw.errors import InputError, UsageError
from depthlaw.models import Roles, Tokens, adopt, load_model, pretrained
from depthlaw.models.checks import check_tokens
from depthlaw.models.load import locate
from depthlaw.models.opening import identity_of_weights
from depthlaw.models.pretrained import refuse_other_weights

LONG = [40, 3, 22, 90, 11, 54, 7, 29, 66, 13, 71]


@pytest.fixture
def folder(make, tmp_path):
    """A saved tiny model without a tokenizer."""
    make("llama").save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def change(folder, **settings):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))


def test_a_folder_by_path_and_by_name(folder, monkeypatch):
    by_path = load_model(folder)
    assert by_path.tokenizer is None
    assert by_path.checks.dtype == torch.float32
    monkeypatch.setenv("DEPTHLAW_MODELS", str(folder.parent))
    by_name = load_model("model")
    assert identity_of_weights(by_name) == identity_of_weights(by_path)
    ids = Tokens(torch.tensor([LONG]))
    assert torch.equal(by_name.capture(ids).states[-1], by_path.capture(ids).states[-1])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_dtypes(folder, dtype):
    lm = load_model(folder, dtype=dtype)
    assert lm.dtype == getattr(torch, dtype)
    assert lm.checks.logits_difference <= 2e-2
    assert lm.capture(Tokens(torch.tensor([LONG]))).states[0].dtype == lm.dtype


def test_a_config_may_name_several_ends(folder):
    """As the configs of chat models do; the checks then use none of these ids."""
    change(folder, eos_token_id=[9, 45, 54])
    lm = load_model(folder)
    assert lm.model.config.eos_token_id == [9, 45, 54]
    assert not {9, 45, 54} & set(check_tokens(lm.model).flatten().tolist())


def test_a_config_that_cannot_be_made_sense_of_is_an_error_in_words(make):
    model = make.__wrapped__("llama")
    model.config.eos_token_id = list(range(97))
    with pytest.raises(InputError, match="all of its 97 tokens are special ones"):
        adopt(model)
    model.config = None
    with pytest.raises(InputError, match="LlamaForCausalLM: the model fails on 8 tokens: AttributeError"):
        adopt(model)
    with pytest.raises(InputError, match="Linear: the model fails on 8 tokens: AttributeError"):
        adopt(torch.nn.Linear(2, 2))


def test_what_cannot_be_loaded_is_said_in_a_line_or_two(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").touch()
    for name, said in (
        (str(tmp_path / "empty"), r"this folder holds no model \(no config.json\)"),
        (str(tmp_path / "notes.txt"), "is a file, and no model"),
        ("nobody/no-such-model", "cannot be loaded"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            load_model(name)
        assert len(str(caught.value).splitlines()) <= 3
    with pytest.raises(InputError, match=r"x\.gguf: there is no such file"):
        load_model(str(tmp_path / "x.gguf"))


@pytest.mark.parametrize(
    ("depth", "said"),
    [
        (5, r"model: the files lack 18 of the model's weights \(model\.layers\.3\.input_layernorm\.weight, "),
        (1, r"model: the files hold 18 weights of blocks that the model does not have \(model\.layers\.1\."),
    ],
)
def test_blocks_that_are_not_in_the_files_are_not_made_up(folder, depth, said, capfd):
    change(folder, num_hidden_layers=depth)
    with pytest.raises(InputError, match=said) as caught:
        load_model(folder)
    assert len(str(caught.value).splitlines()) == 2
    assert capfd.readouterr().err == ""


def test_weights_of_blocks_that_the_family_does_not_have(make, tmp_path):
    make("qwen3").save_pretrained(tmp_path / "model")
    change(tmp_path / "model", model_type="llama", architectures=["LlamaForCausalLM"])
    with pytest.raises(InputError, match=r"model\.layers\.0\.self_attn\.k_norm\.weight"):
        load_model(tmp_path / "model")


def test_an_encoder_gets_no_made_up_head(tmp_path):
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
    BertModel(config).save_pretrained(tmp_path / "model")
    with pytest.raises(InputError, match=r"lack \d of the model's weights \(cls\.predictions"):
        load_model(tmp_path / "model")


def test_masks_in_old_files_and_other_heads_are_no_weights_of_blocks(make):
    model = make("llama")
    harmless = ["model.layers.1.self_attn.rotary_emb.inv_freq", "model.layers.0.attn.bias", "score.weight"]
    refuse_other_weights("m", model, {"unexpected_keys": [*harmless, "vision.layers.7.weight"]})


def test_damaged_files_are_said_in_two_lines(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-3000])
    with pytest.raises(InputError, match=r"the model cannot be loaded: .*incomplete metadata") as caught:
        load_model(folder)
    assert len(str(caught.value).splitlines()) == 2


def test_a_model_of_the_hub_is_not_waited_for_where_there_is_no_connection(monkeypatch, tmp_path):
    monkeypatch.setattr(pretrained, "why_not_reachable", lambda: "the hub cannot be reached (no answer)")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"not on this machine, and the hub cannot be reached") as caught:
        load_model("nobody/no-such-model")
    assert len(str(caught.value).splitlines()) == 2


def test_a_revision_is_not_one_of_a_folder(folder):
    with pytest.raises(UsageError, match=r"revision main .* a folder here"):
        load_model(folder, revision="main")


def test_dtype_and_device_are_checked_first(folder):
    with pytest.raises(UsageError, match="not one of auto, float32"):
        load_model(folder, dtype="fp32")
    with pytest.raises(UsageError, match="not known to torch"):
        load_model(folder, device="tpuu")
    for away in ("cpu:1", "meta", *(["cuda"] if not torch.cuda.is_available() else [])):
        with pytest.raises(UsageError, match=f'device "{away}" not found .have: .*cpu'):
            load_model(folder, device=away)
    with pytest.raises(UsageError, match="exclude each other"):
        load_model(folder, device="cpu", device_map="auto")


def test_a_gguf_file_is_located_by_folder_and_name(tmp_path):
    (tmp_path / "a.gguf").touch()
    assert locate(str(tmp_path / "a.gguf")) == (str(tmp_path), "a.gguf")
    assert locate("org/name") == ("org/name", None)


def test_quantised_weights_without_their_library_are_a_clear_error(folder):
    pytest.importorskip("transformers")
    change(folder, quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True})
    with pytest.raises(InputError, match=r"bitsandbytes|quant"):
        load_model(folder)


def test_a_device_map_with_parts_that_live_on_disk(folder, tmp_path):
    pytest.importorskip("accelerate")
    whole = load_model(folder)
    places = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk"}
    places |= {"model.layers.2": "cpu", "model.norm": "cpu", "model.rotary_emb": "cpu", "lm_head": "disk"}
    spread = load_model(folder, device_map=places)
    assert next(spread.blocks[1].parameters()).device.type == "meta"
    ids = Tokens(torch.tensor([LONG]))
    for a, b in zip(whole.capture(ids).states, spread.capture(ids).states, strict=True):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(whole.logits(ids), spread.logits(ids))


def test_logits_that_do_not_follow_from_the_head_are_refused(make):
    model = make.__wrapped__("llama")
    forward = model.forward

    def spoiled(*args, **kwargs):
        output = forward(*args, **kwargs)
        output.logits = output.logits.abs()
        return output

    model.forward = spoiled
    with pytest.raises(InputError, match="cannot be reproduced from the output of its head"):
        adopt(model)


def test_a_model_that_sees_the_future_is_refused(make):
    model = make.__wrapped__("llama")
    for block in model.model.layers:
        block.register_forward_pre_hook(
            lambda _m, args, kwargs: (args, {**kwargs, "attention_mask": torch.zeros(1, 1, 1, 8)}),
            with_kwargs=True,
        )
    with pytest.raises(InputError, match="is not causal"):
        adopt(model)


def test_a_block_with_a_memory_cannot_be_replayed(make):
    model = make.__wrapped__("llama")
    runs = iter(range(10**6))
    # The same arguments give something else on the fourth call.
    model.model.layers[1].register_forward_hook(lambda _m, _a, out: out * (2 if next(runs) == 3 else 1))
    with pytest.raises(InputError, match="cannot be replayed"):
        adopt(model)


def test_an_unknown_layout_lists_the_candidates(make):
    model = make.__wrapped__("llama")
    model.config.num_hidden_layers = 2
    with pytest.raises(
        InputError, match=r"model\.layers: 3 × LlamaDecoderLayer, the config says 2"
    ) as caught:
        adopt(model)
    assert "roles=Roles(" in caught.value.hint


def test_roles_can_be_given(make):
    found = adopt(make("gemma2"))
    given = adopt(make("gemma2"), roles=found.roles)
    assert given.roles == found.roles
    assert given.tail.logit_cap == 0.5
    with pytest.raises(InputError, match="no attribute"):
        adopt(make("gemma2"), roles=Roles("model.embed", "model.blocks", (), "lm_head", None))


@pytest.mark.parametrize(
    ("family", "tail", "scale", "cap"),
    [
        ("llama", ("model.norm",), 1.0, None),
        ("gpt2", ("transformer.ln_f",), 1.0, None),
        ("opt-projected", ("model.decoder.project_out",), 1.0, None),
        ("opt-no-final-norm", (), 1.0, None),
        ("gemma2", ("model.norm",), 1.0, 0.5),
        ("cohere", ("model.norm",), 0.0625, None),
        ("granite", ("model.norm",), 0.125, None),
        ("mamba", ("backbone.norm_f",), 1.0, None),
    ],
)
def test_the_tail_that_was_found(make, family, tail, scale, cap):
    lm = adopt(make(family))
    assert lm.roles.tail == tail
    assert (lm.tail.logit_scale, lm.tail.logit_cap) == (scale, cap)


def test_a_library_that_norms_or_not_by_a_switch(make):
    """A config switch decides what the library's last entry is; the check sees which."""
    model = make.__wrapped__("llama")
    assert adopt(model).checks.hidden_states_last == "normed"
    model.config.tie_last_hidden_states = False
    assert adopt(model).checks.hidden_states_last == "raw"


@pytest.mark.data
def test_a_real_model(models_dir):
    lm = load_model(models_dir / "stories260K")
    assert (lm.depth, lm.width, lm.context) == (5, 64, 512)
    assert lm.checks.hidden_states_last == "normed"
    assert lm.tokenizer is not None


@pytest.mark.data
def test_a_real_model_in_another_folder_is_the_same(models_dir, tmp_path):
    shutil.copytree(models_dir / "stories260K", tmp_path / "copy")
    one, other = load_model(models_dir / "stories260K"), load_model(tmp_path / "copy")
    assert identity_of_weights(one) == identity_of_weights(other)
