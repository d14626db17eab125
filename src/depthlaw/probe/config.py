"""Settings of a probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from depthlaw.data.config import own_first
from depthlaw.data.model_config import ModelConfig
from depthlaw.data.text.config import TextConfig


@own_first
@dataclass(frozen=True)
class ProbeConfig(ModelConfig, TextConfig):
    """What to measure, on how much text, and how.

    Attributes
    ----------
    lens
        Also read the prediction at every layer: through the last block (block, also when nothing is said) or
        only through the final norm and the head (direct).
    mode
        The paper mode adds the published numerics (normed last state, bfloat16 cosines) beside the corrected.
    batching
        One document a row (documents), or documents one behind the other in full rows of max_length tokens
        (packed).
    tokens
        Keep the table of tokens, not only the summary (with --out).
    """

    lens: Literal["block", "direct"] | bool = False
    mode: Literal["corrected", "paper"] = "corrected"
    batching: Literal["documents", "packed"] = "documents"
    tokens: bool = True

    def __post_init__(self) -> None:
        ModelConfig.__post_init__(self)
        TextConfig.__post_init__(self)

    @property
    def reading(self) -> Literal["none", "block", "direct"]:
        """The lens in one word."""
        if isinstance(self.lens, bool):
            return "block" if self.lens else "none"
        return self.lens
