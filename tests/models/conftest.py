"""Tiny models of many families, with random weights; no network."""

import functools

import pytest
import torch

SIZES = {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
LLAMA = {**SIZES, "intermediate_size": 64, "num_key_value_heads": 2, "max_position_embeddings": 64}
SOFT = {**LLAMA, "head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 8}
OPT = {**SIZES, "ffn_dim": 64, "max_position_embeddings": 64, "word_embed_proj_dim": 32}

FAMILIES = {
    "gpt2": ("GPT2", {"vocab_size": 97, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}),
    "gpt_neox": ("GPTNeoX", {**SIZES, "intermediate_size": 64, "max_position_embeddings": 64}),
    "opt": ("OPT", OPT),
    "opt-projected": ("OPT", {**OPT, "word_embed_proj_dim": 16, "do_layer_norm_before": False}),
    "opt-no-final-norm": ("OPT", {**OPT, "_remove_final_layer_norm": True}),
    "llama": ("Llama", LLAMA),
    "mistral": ("Mistral", {**LLAMA, "sliding_window": 8}),
    "mixtral": ("Mixtral", {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen2": ("Qwen2", LLAMA),
    "qwen3": ("Qwen3", {**LLAMA, "head_dim": 8}),
    "gemma2": ("Gemma2", {**SOFT, "final_logit_softcapping": 0.5}),
    "gemma3": ("Gemma3Text", {**SOFT, "sliding_window_pattern": 2}),
    "phi3": ("Phi3", {**LLAMA, "pad_token_id": 0}),
    "olmo2": ("Olmo2", LLAMA),
    "falcon": ("Falcon", {**SIZES, "alibi": False, "new_decoder_architecture": False}),
    "falcon-alibi": ("Falcon", {**SIZES, "alibi": True, "parallel_attn": False}),
    "mpt": ("Mpt", {"vocab_size": 97, "d_model": 32, "n_layers": 3, "n_heads": 4, "max_seq_len": 64}),
    "bloom": ("Bloom", {"vocab_size": 97, "hidden_size": 32, "n_layer": 3, "n_head": 4}),
    "mamba": ("Mamba", {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 3, "state_size": 8}),
    # Raw last entries, a cap under another name, recurrent blocks.
    "openai-gpt": (
        "OpenAIGPT",
        {"vocab_size": 97, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64},
    ),
    "recurrent-gemma": ("RecurrentGemma", {**LLAMA, "lru_width": 32, "logits_soft_cap": 0.5}),
    # Not asked for by name, but each a way in which logits or states differ.
    "cohere": ("Cohere", {**LLAMA, "logit_scale": 0.0625, "pad_token_id": 0}),
    "granite": ("Granite", {**LLAMA, "logits_scaling": 8.0, "embedding_multiplier": 3.0}),
}
CLASSES = {
    "GPT2": ("GPT2Config", "GPT2LMHeadModel"),
    "OpenAIGPT": ("OpenAIGPTConfig", "OpenAIGPTLMHeadModel"),
    "Gemma3Text": ("Gemma3TextConfig", "Gemma3ForCausalLM"),
}


@functools.cache
def build(family: str):
    """A fresh model of the family; the weights are spread out, so that layers do something."""
    import transformers

    kind, settings = FAMILIES[family]
    config_name, model_name = CLASSES.get(kind, (f"{kind}Config", f"{kind}ForCausalLM"))
    config = getattr(transformers, config_name)(**settings)
    torch.manual_seed(0)
    model = getattr(transformers, model_name)(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.15)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.float()


@pytest.fixture(scope="session")
def make():
    """The function that builds a family's tiny model."""
    return build


@pytest.fixture(params=list(FAMILIES))
def family(request):
    return request.param


@pytest.fixture
def lm(family):
    return adopted(family)


@functools.cache
def adopted(family):
    from depthlaw.models import adopt

    return adopt(build(family), name=family)
