"""Attention and MLP are found in every family that has them, from structure alone."""

import pytest

from depthlaw.errors import InputError
from depthlaw.models.sublayers import find_sublayers

EXPECTED = {
    "gpt2": ("attn", "mlp"),
    "gpt_neox": ("attention", "mlp"),
    "opt": ("self_attn", "fc2"),
    "opt-projected": ("self_attn", "fc2"),
    "opt-no-final-norm": ("self_attn", "fc2"),
    "falcon": ("self_attention", "mlp"),
    "falcon-alibi": ("self_attention", "mlp"),
    # These add the stream within the module, so that what is added is looked for inside.
    "openai-gpt": ("attn", "mlp"),
    # Whatever mixes tokens: recurrent in most blocks, attention in every third.
    "recurrent-gemma": ("temporal_block", "mlp_block"),
    "mpt": ("attn", "ffn.down_proj"),
    "bloom": ("self_attention.dense", "mlp.dense_4h_to_h"),
}


def test_found_in_every_family(lm, family, hooks):
    before = hooks(lm.model)
    if family == "mamba":
        with pytest.raises(InputError, match="no attention and MLP"):
            find_sublayers(lm)
    else:
        found = find_sublayers(lm)
        assert (found.attention, found.mlp) == EXPECTED.get(family, ("self_attn", "mlp"))
    assert hooks(lm.model) == before
