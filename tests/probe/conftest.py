"""A tiny model with a tokenizer of letters, and a few documents; no files, no network."""

import functools

import pytest
import torch


class Letters:
    """One token a letter; like those of GPT-2, no mark at the beginning."""

    bos_token_id = eos_token_id = pad_token_id = 0
    all_special_ids = (0,)

    def __call__(self, texts, **options):
        return {"input_ids": [[1 + ord(letter) % 90 for letter in text] for text in texts]}


@functools.cache
def tiny(family="llama", depth=4):
    import transformers

    from depthlaw.models import adopt

    torch.manual_seed(1)
    sizes = {"vocab_size": 97, "hidden_size": 16, "num_hidden_layers": depth, "num_attention_heads": 2}
    if family == "llama":
        config = transformers.LlamaConfig(
            **sizes, intermediate_size=32, num_key_value_heads=2, max_position_embeddings=64
        )
        model = transformers.LlamaForCausalLM(config)
    else:
        config = transformers.GPTNeoXConfig(**sizes, intermediate_size=32, max_position_embeddings=64)
        model = transformers.GPTNeoXForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.2)
            else:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return adopt(model.float(), Letters(), name=f"tiny-{family}")


@pytest.fixture
def lm():
    return tiny()


@pytest.fixture
def make_lm():
    return tiny


@pytest.fixture
def texts():
    line = "the quick brown fox jumps over a lazy dog and then goes home to sleep until noon"
    words = line.split()
    return [" ".join(words[i % 7 : 3 + (5 * i) % 13 + i % 7]) for i in range(40)]
