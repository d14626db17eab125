"""What differs in a weight, a setting or a token has another identity; what lies elsewhere does not."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from depthlaw.errors import InputError
from depthlaw.models import adopt, identity, load_model
from depthlaw.models.opening import identity_of_weights


def of(folder):
    return identity_of_weights(load_model(folder))["weights"]


@pytest.fixture(scope="module")
def saved(make, tmp_path_factory):
    """A saved tiny model, its files larger than any sample of both ends would be."""
    import transformers

    torch.manual_seed(0)
    sizes = {"vocab_size": 97, "hidden_size": 128, "num_hidden_layers": 6, "num_attention_heads": 4}
    config = transformers.LlamaConfig(**sizes, intermediate_size=256)
    place = tmp_path_factory.mktemp("models") / "model"
    transformers.LlamaForCausalLM(config).save_pretrained(place)
    assert (place / "model.safetensors").stat().st_size > 3 << 20
    (place / "tokenizer.json").write_text("{}")
    return place


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "copy")


def rewrite(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def swap(weights):
    for name in [name for name in weights if name.startswith("model.layers.2.")]:
        other = name.replace("layers.2", "layers.3")
        weights[name], weights[other] = weights[other], weights[name]


def erase(weights):
    weights["model.layers.2.mlp.up_proj.weight"].zero_()


@pytest.mark.parametrize("change", [swap, erase])
def test_what_changes_only_the_middle_of_the_files_is_another_model(saved, copy, change):
    assert of(copy) == of(saved)
    size = (copy / "model.safetensors").stat().st_size
    rewrite(copy, change)
    assert (copy / "model.safetensors").stat().st_size == size
    assert of(copy) != of(saved)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "vocab.txt", "merges.txt"])
def test_another_tokenizer_is_another_model(saved, copy, name):
    (copy / name).write_text('{"model": 1}')
    assert identity.hash_of_files(identity.files_of(str(copy), None)) != of(saved)


def test_what_decides_nothing_is_left_out(saved, copy):
    (copy / "README.md").write_text("A model.")
    (copy / "generation_config.json").write_text(json.dumps({"temperature": 0.7}))
    assert of(copy) == of(saved)


def test_a_file_is_read_once_until_it_is_written(copy, monkeypatch):
    read = []
    honest = identity.hashlib.file_digest
    monkeypatch.setattr(
        identity.hashlib, "file_digest", lambda file, name: read.append(file.name) or honest(file, name)
    )
    files = identity.files_of(str(copy), None)
    first = identity.hash_of_files(files)
    assert identity.hash_of_files(files) == first
    assert len(read) == len(files) == 3
    rewrite(copy, erase)
    assert identity.hash_of_files(files) != first
    assert len(read) == 4


def test_nothing_is_hashed_at_load(saved, monkeypatch):
    monkeypatch.setattr(identity, "_content", None)
    load_model(saved)


def test_a_file_that_is_gone_is_said(copy):
    lm = load_model(copy)
    (copy / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"model\.safetensors: there is no such file"):
        identity_of_weights(lm)


def test_models_of_the_hub_are_told_apart_by_their_commit(make):
    known = {"model": "org/name", "revision": None, "commit": "0a1b", "weights": None}
    assert identity.files_of("org/name", None) == ()
    assert identity_of_weights(adopt(make("llama"), identity=known)) == known


def test_an_adapter_is_told_apart_by_what_is_in_memory(copy):
    (copy / "adapter_config.json").write_text("{}")
    assert identity.files_of(str(copy), None) == ()


def in_memory(model, tokenizer=None, **given):
    return identity_of_weights(adopt(model, tokenizer, **given))["weights"]


def change_last_weight(model):
    with torch.no_grad():
        model.lm_head.weight[-1, -1] += 1


def change_buffer(model):
    model.model.rotary_emb.inv_freq.mul_(2)


def change_setting(model):
    model.config.rms_norm_eps = 1e-3


def change_dtype(model):
    model.bfloat16()


@pytest.mark.parametrize("change", [change_last_weight, change_buffer, change_setting, change_dtype])
def test_a_model_in_memory_is_its_weights_and_settings(make, change):
    one, other = make.__wrapped__("llama"), make.__wrapped__("llama")
    other.config._name_or_path = "elsewhere"
    assert in_memory(one, name="a") == in_memory(other, name="b")
    change(other)
    assert in_memory(other) != in_memory(one)


def test_a_name_given_to_weights_is_taken(make):
    assert in_memory(make("llama"), identity={"weights": "step 7"}) == "step 7"


def tokenizer_of(words):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=words[0]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token=words[0], pad_token=words[0])


def test_another_tokenizer_in_memory_is_another_model(make):
    model, words = make("llama"), ["?", "a", "b"]
    one = in_memory(model, tokenizer_of(words))
    used = tokenizer_of(words)
    used(["a b", "a"], truncation=True, max_length=3, padding=True)
    assert in_memory(model, used) == one
    assert in_memory(model, tokenizer_of(["?", "b", "a"])) != one
    assert in_memory(model) != one


def test_weights_on_disk_are_read_where_they_are(saved, tmp_path):
    pytest.importorskip("accelerate")
    places = dict.fromkeys(["model.embed_tokens", "model.norm", "model.rotary_emb"], "cpu")
    places |= {f"model.layers.{i}": "disk" if i % 2 else "cpu" for i in range(6)} | {"lm_head": "disk"}
    spread = load_model(saved, device_map=places)
    assert spread.blocks[1].mlp.up_proj.weight.is_meta
    assert in_memory(spread.model) == in_memory(load_model(saved).model)
    assert spread.blocks[1].mlp.up_proj.weight.is_meta


def test_weights_without_bytes_are_said(make):
    lm = adopt(make.__wrapped__("llama"))
    lm.model.model.norm.to("meta")
    with pytest.raises(InputError, match=r"model\.norm\.weight cannot be read") as caught:
        identity_of_weights(lm)
    assert "identity=" in caught.value.hint


def test_a_gguf_file_holds_all_there_is(tmp_path):
    for name in ("a.gguf", "b.gguf", "config.json"):
        (tmp_path / name).touch()
    assert identity.files_of(str(tmp_path), "a.gguf") == (tmp_path / "a.gguf",)
