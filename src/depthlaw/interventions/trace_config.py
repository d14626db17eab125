"""Settings of causal tracing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from depthlaw.data.bounds import check_counts
from depthlaw.data.config import own_first
from depthlaw.data.model_config import ModelConfig
from depthlaw.errors import UsageError
from depthlaw.interventions.noise import parse_noise

Kind = Literal["block", "attention", "mlp"]


@own_first
@dataclass(frozen=True)
class TraceConfig(ModelConfig):
    """How to corrupt, what to restore, and how to read.

    Attributes
    ----------
    noise
        On the subject's embeddings: "s3" Gaussian of 3 standard deviations of the embedding output at the
        subject tokens, "0.1" of that size, "u3" uniform within 3 of them, "t" the embeddings of another
        prompt's subject.
    samples
        Draws of the noise, the same for every cell.
    restore
        Outputs of a block, of its attention, of its MLP.
    window
        Restore this many neighbouring blocks together, centred.
    span
        Restore this many neighbouring tokens together, from each one on; or the subject as a whole.
    read
        The first token of the target, as in the paper, or all of them (joint probability).
    other
        Texts whose embeddings the noise "t" takes; without any, the subjects of the other prompts.
    limit
        Prompts taken from the front of a file.
    seed
        Of the noise.
    """

    noise: str = "s3"
    samples: int = 10
    restore: tuple[Kind, ...] = ("block",)
    window: int = 1
    span: int | Literal["subject"] = 1
    read: Literal["first", "all"] = "first"
    other: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_noise(self.noise)
        check_counts(self, 1, "samples", "window", "span", "limit")
        check_counts(self, 0, "seed")
        if not self.restore:
            raise UsageError("restore names nothing.", "block, attention, mlp.")
