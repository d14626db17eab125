"""Settings of a probe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from depthlaw.data.bounds import check_counts
from depthlaw.data.config import LOCAL
from depthlaw.data.text_limit import parse_limit


@dataclass(frozen=True)
class ProbeConfig:
    """What to measure, on how much text, and how.

    Attributes
    ----------
    limit
        How much text: "800", "800 documents" or "50k tokens"; all of it by default.
    lens
        Also read the prediction at every layer: through the last block (block, also when nothing is said) or
        only through the final norm and the head (direct).
    mode
        The paper mode adds the published numerics (normed last state, bfloat16 cosines) beside the corrected.
    max_length
        Tokens kept of a document (packed: of a row).
    batching
        One document a row (documents), or documents one behind the other in full rows (packed).
    bos
        Mark at the beginning of a document: as the tokenizer does it (auto), always or never.
    batch_size
        Rows of a batch; auto finds what fits into memory, once.
    dtype
        Of the weights: auto takes the one they are stored in.
    device
        Where to run: auto takes an accelerator when there is one.
    revision
        Branch, tag or commit of the model on the hub.
    text_column
        Column or key that holds the text; recognised by default.
    text_config
        Configuration of a data set of the hub.
    text_split
        Split of a data set of the hub.
    text_revision
        Branch, tag or commit of a data set of the hub.
    tokens
        Keep the table of tokens, not only the summary (with --out).
    """

    limit: str | None = None
    lens: Literal["block", "direct"] | bool = False
    mode: Literal["corrected", "paper"] = "corrected"
    max_length: int = 1024
    batching: Literal["documents", "packed"] = "documents"
    bos: Literal["auto", "always", "never"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    dtype: str = "auto"
    device: str = field(default="auto", metadata=LOCAL)
    revision: str | None = None
    text_column: str | None = None
    text_config: str | None = None
    text_split: str = "train"
    text_revision: str | None = None
    tokens: bool = True

    @property
    def reading(self) -> Literal["none", "block", "direct"]:
        """The lens in one word."""
        if isinstance(self.lens, bool):
            return "block" if self.lens else "none"
        return self.lens

    def __post_init__(self) -> None:
        check_counts(self, 2, "max_length")
        check_counts(self, 1, "batch_size")
        if self.limit is not None:
            parse_limit(self.limit)
