"""Settings of an ablation."""

from __future__ import annotations

from dataclasses import dataclass

from depthlaw.data.bounds import check_counts, check_positive
from depthlaw.data.config import own_first
from depthlaw.data.model_config import ModelConfig
from depthlaw.data.text.config import TextConfig

DEPTH_LAW = (5.0805, 1.201390266418457)
"""c and alpha of the paper's depth term c·depth^-alpha, nats per token (App. B.3)."""


@own_first
@dataclass(frozen=True)
class AblateConfig(ModelConfig, TextConfig):
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
    depth_law
        Coefficient and exponent of the depth term of a law, to predict what a skipped block costs.
    """

    plan: tuple[str, ...] = ()
    drop: int | None = None
    samples: int = 5
    seed: int = 0
    depth: tuple[int, ...] = ()
    rho: tuple[float, ...] = ()
    replica: tuple[int, ...] = ()
    temperature: tuple[float, ...] = ()
    max_length: int = 512
    depth_law: tuple[float, float] = DEPTH_LAW

    @property
    def texts(self) -> tuple[str, ...]:
        """The plans to run, with the windows that a search for ``drop`` needs."""
        asked = self.plan if self.plan or self.drop else ("skip each",)
        return asked if self.drop is None else (*asked, f"skip window {self.drop}")

    def __post_init__(self) -> None:
        ModelConfig.__post_init__(self)
        TextConfig.__post_init__(self)
        check_counts(self, 1, "samples", "drop")
        check_positive(self, "depth_law")
        check_counts(self, 0, "seed")
