"""Settings of an ablation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from depthlaw.data.bounds import check_counts
from depthlaw.data.config import LOCAL
from depthlaw.data.text_limit import parse_limit

DEPTH_LAW = (5.0805, 1.201390266418457)
"""c and alpha of the paper's depth term c·depth^-alpha, nats per token (App. B.3)."""


@dataclass(frozen=True)
class AblateConfig:
    """Which plans to run, on how much text, and how.

    Attributes
    ----------
    plan
        Orders such as "0-4,6-" (from 0, both ends run), or "skip each", "skip window K", "swap neighbours",
        "swap distance D", "repeat each", "reverse middle", "parallel middle", "shuffle middle";
        "skip each" when nothing is said.
    drop
        Search the K neighbouring blocks whose loss costs least.
    samples
        Orders that "shuffle middle" draws.
    seed
        Of these draws, and of the inputs of laboratory students.
    depth
        Students of a laboratory run to take, by their depth; the deepest of each rho by default.
    rho
        Students by the correlation of their teacher's blocks; all by default.
    replica
        Students by the number of their teacher; the first by default.
    temperature
        Students by temperature; the highest by default.
    limit
        How much text: "800", "800 documents" or "8k tokens"; all of it by default.
    max_length
        Tokens kept of a document.
    depth_law
        Coefficient and exponent of the depth term of a law, to predict what a skipped block costs.
    bos
        Mark at the beginning of a document: as the tokenizer does it (auto), always or never.
    batch_size
        Rows of a batch; auto takes some 2,000 tokens on a CPU and 16,000 elsewhere.
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
    """

    plan: tuple[str, ...] = ()
    drop: int | None = None
    samples: int = 5
    seed: int = 0
    depth: tuple[int, ...] = ()
    rho: tuple[float, ...] = ()
    replica: tuple[int, ...] = ()
    temperature: tuple[float, ...] = ()
    limit: str | None = None
    max_length: int = 512
    depth_law: tuple[float, float] = DEPTH_LAW
    bos: Literal["auto", "always", "never"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    dtype: str = "auto"
    device: str = field(default="auto", metadata=LOCAL)
    revision: str | None = None
    text_column: str | None = None
    text_config: str | None = None
    text_split: str = "train"
    text_revision: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The plans to run, with the windows that a search for ``drop`` needs."""
        asked = self.plan if self.plan or self.drop else ("skip each",)
        return asked if self.drop is None else (*asked, f"skip window {self.drop}")

    def __post_init__(self) -> None:
        check_counts(self, 2, "max_length")
        check_counts(self, 1, "samples", "drop", "batch_size")
        check_counts(self, 0, "seed")
        if self.limit is not None:
            parse_limit(self.limit)
