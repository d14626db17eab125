"""Shapes that can be built: exact parameter counts, and the configuration that builds them with transformers.

Four families cover how decoders are put together today: ``llama`` (gated feed-forward, grouped queries, no
biases), ``qwen2`` (the same with biases on queries, keys and values), ``gpt_neox`` and ``gpt2`` (two-matrix
feed-forward, biases everywhere; gpt2 has learned positions). The counts equal those of the models that
transformers builds, parameter for parameter (a test holds this).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from depthlaw.data.bounds import check_counts, check_positive
from depthlaw.errors import UsageError
from depthlaw.planning.counting import TRAINING_PASSES, Count

Family = Literal["llama", "qwen2", "gpt_neox", "gpt2"]

GATED = ("llama", "qwen2")
"""Families with a gated feed-forward: three matrices, usually of 8/3 m instead of two of 4 m."""
_NAMES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM",
    "gpt2": "GPT2LMHeadModel",
}


@dataclass(frozen=True)
class ParameterCount:
    """Parameters of one shape.

    Attributes
    ----------
    blocks
        In the blocks and the last norm.
    embeddings
        Token and position embeddings.
    head
        The output matrix; 0 when it is the token embedding.
    """

    blocks: int
    embeddings: int
    head: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.blocks + self.embeddings + self.head


@dataclass(frozen=True)
class Architecture:
    """Everything about a decoder but its width and depth.

    Attributes
    ----------
    family
        How blocks are put together.
    head_dim
        Width of an attention head.
    queries_per_key
        Query heads that share a key-value head (grouped-query attention); 1 for none.
    mlp_ratio
        Feed-forward width over model width; ``None`` for the custom of the family, 8/3 gated and 4 otherwise.
    mlp_multiple
        The feed-forward width is rounded to a multiple of this.
    vocab
        Rows of the embedding.
    tied
        Whether the head is the embedding.
    context
        Longest text, in tokens: learned positions, attention FLOP.
    """

    family: Family = "llama"
    head_dim: int = 64
    queries_per_key: int = 1
    mlp_ratio: float | None = None
    mlp_multiple: int = 64
    vocab: int = 32000
    tied: bool = False
    context: int = 2048

    def __post_init__(self) -> None:
        if self.family not in GATED and self.queries_per_key != 1:
            raise UsageError(f"{self.family} has no grouped queries.", "Use llama or qwen2 for them.")
        check_counts(self, 1, "head_dim", "queries_per_key", "mlp_multiple", "vocab", "context")
        check_positive(self, "mlp_ratio")

    @property
    def ratio(self) -> float:
        """Feed-forward width over model width."""
        return self.mlp_ratio or (8 / 3 if self.family in GATED else 4.0)

    def mlp(self, width: int) -> int:
        """The feed-forward width of a model width, rounded."""
        return max(round(self.ratio * width / self.mlp_multiple), 1) * self.mlp_multiple

    def fits(self, width: int) -> bool:
        """Whether heads divide the width."""
        return width % (self.head_dim * self.queries_per_key) == 0

    def count(self, width: int, depth: int) -> ParameterCount:
        """The exact parameters of a shape.

        Raises
        ------
        UsageError
            If heads do not divide the width.
        """
        if not self.fits(width):
            step = self.head_dim * self.queries_per_key
            raise UsageError(
                f"width {width} is not a multiple of {step} (head_dim × queries per key).",
                f"Use {round(width / step) * step or step}, or another --head-dim.",
            )
        m, i = width, self.mlp(width)
        if self.family in GATED:
            kv = m // self.queries_per_key
            bias = m + 2 * kv if self.family == "qwen2" else 0
            block = 2 * m * m + 2 * m * kv + bias + 3 * m * i + 2 * m
            last = m
        else:
            block = (3 * m * m + 3 * m) + (m * m + m) + (m * i + i) + (i * m + m) + 4 * m
            last = 2 * m
        positions = self.context * m if self.family == "gpt2" else 0
        return ParameterCount(
            blocks=block * depth + last,
            embeddings=self.vocab * m + positions,
            head=0 if self.tied else self.vocab * m,
        )

    def flops(self, width: int, depth: int) -> float:
        """Training FLOP per token: 6 for every weight of blocks and head, and attention over the context.

        Attention is 12·m·ℓ·context, as if every token looked at all others; embeddings are looked up.
        """
        count = self.count(width, depth)
        head = self.vocab * width
        return TRAINING_PASSES * (count.blocks + head) + 12.0 * width * depth * self.context

    def smooth(self, what: Literal["non-embedding", "total", "flops"]) -> Count:
        """The count as a smooth function of width and depth, rounding of the feed-forward aside."""
        r = self.ratio
        if self.family in GATED:
            share = 1.0 / self.queries_per_key
            square = 2 + 2 * share + 3 * r
            linear = 2.0 + (1 + 2 * share if self.family == "qwen2" else 0.0)
            last = 1.0
        else:
            square, linear, last = 4 + 2 * r, 4 + r + 1 + 4, 2.0
        if what == "flops":
            whole = Count(square, linear + 2.0 * self.context, last + self.vocab)
            return whole.times(TRAINING_PASSES, f"{self.family}: {self.flop_words}")
        outside = last
        if what == "total":
            outside += self.vocab * (1 if self.tied else 2)
            outside += self.context if self.family == "gpt2" else 0
        return Count(square, linear, outside, f"{self.family}: {self.words(what)}")

    @property
    def flop_words(self) -> str:
        """What `flops` counts, in words."""
        return (
            f"6 FLOP a weight of blocks and head (vocabulary {self.vocab}), "
            f"12 m ℓ × {self.context} for attention"
        )

    def words(self, what: str) -> str:
        """What a count includes, in words."""
        if what == "non-embedding":
            return "parameters without embeddings and head"
        head = "tied head" if self.tied else "head of its own"
        return f"all parameters, embeddings of {self.vocab} tokens and {head} counted"

    def config(self, width: int, depth: int) -> dict[str, Any]:
        """The ``config.json`` of a shape for transformers."""
        common: dict[str, Any] = {
            "model_type": self.family,
            "architectures": [_NAMES[self.family]],
            "vocab_size": self.vocab,
            "tie_word_embeddings": self.tied,
        }
        heads = width // self.head_dim
        if self.family == "gpt2":
            return common | {
                "n_embd": width,
                "n_layer": depth,
                "n_head": heads,
                "n_inner": self.mlp(width),
                "n_positions": self.context,
            }
        common |= {
            "hidden_size": width,
            "num_hidden_layers": depth,
            "num_attention_heads": heads,
            "intermediate_size": self.mlp(width),
            "max_position_embeddings": self.context,
        }
        if self.family in GATED:
            common["num_key_value_heads"] = heads // self.queries_per_key
        if self.family == "llama":
            common["head_dim"] = self.head_dim
        return common
