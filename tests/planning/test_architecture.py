"""Counts are those of the models that transformers builds, parameter for parameter."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from depthlaw.errors import UsageError
from depthlaw.planning.architecture import Architecture

SHAPES: list[tuple[Architecture, int, int]] = [
    (Architecture("llama", head_dim=128, vocab=32000), 4096, 4),
    (Architecture("llama", head_dim=128, queries_per_key=8, mlp_ratio=3.5, vocab=128256), 8192, 3),
    (
        Architecture("llama", head_dim=64, queries_per_key=4, tied=True, vocab=49152, mlp_multiple=256),
        2048,
        4,
    ),
    (Architecture("qwen2", head_dim=64, queries_per_key=7, tied=True, vocab=151936), 896, 5),
    (Architecture("qwen2", head_dim=128, queries_per_key=5, vocab=152064), 5120, 3),
    (Architecture("gpt_neox", head_dim=64, vocab=50304), 1024, 4),
    (Architecture("gpt_neox", head_dim=128, vocab=50688, tied=True, mlp_ratio=3.0), 2560, 3),
    (Architecture("gpt2", head_dim=64, vocab=50257, tied=True, context=1024), 1600, 4),
    (Architecture("gpt2", head_dim=64, vocab=50257, tied=False, context=2048), 768, 3),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("arch", "width", "depth"), SHAPES)
def test_counts_are_exact(arch: Architecture, width: int, depth: int) -> None:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    config: dict[str, Any] = json.loads(json.dumps(arch.config(width, depth)))
    built = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(built)
    assert type(model).__name__ == config["architectures"][0]
    count = arch.count(width, depth)
    assert count.total == sum(p.numel() for p in model.parameters())
    tables = model.get_input_embeddings().weight.numel()
    tables += sum(p.numel() for name, p in model.named_parameters() if "wpe" in name)
    assert count.embeddings == tables
    assert count.head == (0 if arch.tied else model.get_output_embeddings().weight.numel())


def test_known_models() -> None:
    """Published totals: Llama-2-7B, GPT-2 XL, Pythia-410M, Qwen2.5-0.5B."""
    llama = Architecture("llama", head_dim=128, mlp_multiple=256)
    assert llama.mlp(4096) == 11008
    assert llama.count(4096, 32).total == 6738415616
    assert Architecture("gpt2", vocab=50257, tied=True, context=1024).count(1600, 48).total == 1557611200
    assert Architecture("gpt_neox", vocab=50304).count(1024, 24).total == 405334016
    qwen = Architecture("qwen2", queries_per_key=7, tied=True, vocab=151936, mlp_ratio=4864 / 896)
    assert qwen.count(896, 24).total == 494032768


@pytest.mark.parametrize(("arch", "width", "depth"), SHAPES)
def test_the_smooth_count_is_near_the_exact_one(arch: Architecture, width: int, depth: int) -> None:
    m, layers = np.array(float(width)), np.array(float(depth))
    count = arch.count(width, depth)
    assert float(arch.smooth("total")(m, layers)) == pytest.approx(count.total, rel=0.02)
    assert float(arch.smooth("non-embedding")(m, layers)) == pytest.approx(count.blocks, rel=0.02)
    assert float(arch.smooth("flops")(m, layers)) == pytest.approx(arch.flops(width, depth), rel=0.02)


def test_shapes_that_cannot_be_built_are_refused() -> None:
    with pytest.raises(UsageError, match=r"width 1000 is not a multiple of 64.*\nUse 1024"):
        Architecture().count(1000, 10)
    with pytest.raises(UsageError, match="gpt2 has no grouped queries"):
        Architecture("gpt2", queries_per_key=2)
    with pytest.raises(UsageError, match="head_dim must be at least 1, not 0"):
        Architecture(head_dim=0)
