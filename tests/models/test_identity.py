"""What differs in a weight, a setting or a token has another identity; what lies elsewhere does not."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from depthlaw.errors import InputError
from depthlaw.models import identity, load_model
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
    from depthlaw.models import adopt

    known = {"model": "org/name", "revision": None, "commit": "0a1b", "weights": None}
    assert identity.files_of("org/name", None) == ()
    assert identity_of_weights(adopt(make("llama"), identity=known)) == known


def test_a_gguf_file_holds_all_there_is(tmp_path):
    for name in ("a.gguf", "b.gguf", "config.json"):
        (tmp_path / name).touch()
    assert identity.files_of(str(tmp_path), "a.gguf") == (tmp_path / "a.gguf",)
