"""Scales and caps between the head and the logits, in every dtype and however small the logits."""

import copy

import pytest
import torch

from depthlaw.models import Tokens, adopt
from depthlaw.models.roles import scale_between

IDS = torch.tensor([[40, 3, 22, 90, 11, 54, 7, 29, 66, 13, 71]])
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(params=DTYPES, ids=str)
def dtype(request):
    return request.param


def cast(model, dtype, *, head=1.0):
    """A copy in ``dtype``; ``head`` makes its logits larger or smaller."""
    model = copy.deepcopy(model).to(dtype)
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(head)
    return model


def ends_at_its_own_logits(lm):
    last = lm.capture(Tokens(IDS)).states[-1]
    own = lm.logits(Tokens(IDS))
    return float((lm.finish(last) - own).abs().max()) <= lm.checks.tolerance * float(own.float().std())


@pytest.mark.parametrize("head", [1.0, 0.01])
@pytest.mark.parametrize("cap", [0.5, 30.0, 50.0])
@pytest.mark.parametrize(
    ("family", "name"), [("gemma2", "final_logit_softcapping"), ("recurrent-gemma", "logits_soft_cap")]
)
def test_a_cap_is_found_even_where_it_does_not_show(make, family, name, cap, head, dtype):
    model = cast(make(family), dtype, head=head)
    setattr(model.config, name, cap)
    lm = adopt(model)
    assert (lm.tail.logit_scale, lm.tail.logit_cap) == (1.0, cap)
    assert ends_at_its_own_logits(lm)
    # Where it does show, the lens must have it.
    large = torch.full((1, lm.width), 100.0, dtype=dtype)
    assert float(lm.finish(large).abs().max()) <= cap


@pytest.mark.parametrize(
    ("family", "name", "value", "scale"),
    [
        *(("granite", "logits_scaling", divisor, 1 / divisor) for divisor in (3.0, 6.0, 8.0, 10.0, 13.0)),
        *(("cohere", "logit_scale", factor, factor) for factor in (0.0625, 0.1, 0.8)),
    ],
)
def test_a_scale_is_that_of_the_config_to_the_last_bit(make, family, name, value, scale, dtype):
    model = cast(make(family), dtype)
    # Forward reads one or the other.
    setattr(model, name, value)
    setattr(model.config, name, value)
    lm = adopt(model)
    assert (lm.tail.logit_scale, lm.tail.logit_cap) == (scale, None)
    assert ends_at_its_own_logits(lm)


def test_a_cap_that_no_config_names(make, dtype):
    model = cast(make("llama"), dtype, head=0.1)
    forward = model.forward

    def capped(*args, **kwargs):
        output = forward(*args, **kwargs)
        output.logits = 20 * torch.tanh(output.logits / 20)
        return output

    model.forward = capped
    assert adopt(model).tail.logit_cap == pytest.approx(20, rel=1e-6)


def test_a_scale_before_the_head(make, dtype):
    model = cast(make("llama"), dtype)
    forward = model.model.forward

    def scaled(*args, **kwargs):
        output = forward(*args, **kwargs)
        output.last_hidden_state = output.last_hidden_state / 3
        return output

    model.model.forward = scaled
    assert adopt(model).tail.scales == (1.0, 1 / 3)


@pytest.mark.parametrize("family", ["llama", "gpt2", "opt-projected", "mamba"])
def test_most_have_neither(make, family, dtype):
    lm = adopt(cast(make(family), dtype))
    assert (set(lm.tail.scales), lm.tail.logit_scale, lm.tail.logit_cap) == ({1.0}, 1.0, None)


def test_the_norm_of_a_wide_model_is_no_scale_in_16_bit():
    """Its states are nearly of one size before training, so that dividing by it nearly is one."""
    import transformers

    torch.manual_seed(0)
    sizes = {"vocab_size": 97, "hidden_size": 8192, "num_attention_heads": 4, "intermediate_size": 16}
    config = transformers.LlamaConfig(**sizes, num_hidden_layers=1, num_key_value_heads=1, head_dim=8)
    model = transformers.LlamaForCausalLM(config).bfloat16()
    with torch.no_grad():
        model.model.layers[0].self_attn.o_proj.weight.mul_(1e-3)
        model.model.layers[0].mlp.down_proj.weight.mul_(1e-3)
    lm = adopt(model)
    assert lm.roles.final_norm == "model.norm"


def test_a_scale_within_what_rounding_explains(dtype):
    x = torch.linspace(-2, 2, 99).to(dtype)
    assert scale_between(x, x / 3) == pytest.approx(1 / 3, rel=1e-3)
    assert scale_between(x, x / 3 + 0.2 * x.abs()) is None
