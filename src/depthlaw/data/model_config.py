"""Settings of a language model: which weights, where, and how many rows at once."""

# Annotations are not postponed here: the parser reads those of inherited fields where the heir is defined.

from dataclasses import dataclass, field
from typing import Literal

from depthlaw.data.bounds import check_counts
from depthlaw.data.config import LOCAL


@dataclass(frozen=True)
class ModelConfig:
    """How to load and run a language model.

    Attributes
    ----------
    batch_size
        Rows run at once; auto takes what suits the device and fits into its memory.
    dtype
        Of the weights: auto takes the one they are stored in.
    device
        Where to run: auto takes an accelerator when there is one.
    revision
        Branch, tag or commit of the model on the hub.
    """

    batch_size: int | Literal["auto"] = "auto"
    dtype: str = "auto"
    device: str = field(default="auto", metadata=LOCAL)
    revision: str | None = None

    def __post_init__(self) -> None:
        check_counts(self, 1, "batch_size")
