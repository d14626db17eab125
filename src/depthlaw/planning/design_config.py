"""What a design is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from depthlaw.data.bounds import check_counts, check_level, check_positive
from depthlaw.errors import UsageError


@dataclass(frozen=True)
class DesignConfig:
    """How to choose the runs to train next.

    Attributes
    ----------
    budget
        Training compute for all new runs together, in FLOP (6 N D, N = 12 m²ℓ without embeddings).
    goal
        What shall become best known: a parameter such as alpha_depth, best-depth (with --params or --flops),
        or all (all parameters together, D-optimal).
    params
        Budget of parameters (12 m²ℓ) at which the best depth shall be known.
    flops
        Compute (6 N D) at which the best depth shall be known.
    widths
        Widths to choose from; by default across the data.
    depths
        Depths to choose from; by default from half the smallest to 1.5 times the largest in the data.
    tokens_grid
        Training tokens to choose from; by default across the data.
    most
        Most runs to train.
    repeats
        How often one shape may be trained on the same tokens (with another seed).
    level
        Confidence level of the intervals; that of the fit by default.
    resamples
        Laws that the choice is good on average for: bootstrap refits.
    seed
        Seed of the resampling.
    """

    budget: float
    goal: str = "alpha_depth"
    params: float | None = None
    flops: float | None = None
    widths: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    tokens_grid: tuple[float, ...] = ()
    most: int = 12
    repeats: int = 1
    level: float | None = None
    resamples: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.budget < 1e60:
            raise UsageError(f"--budget {self.budget:g} is not an amount of compute.")
        if self.goal == "best-depth" and (self.params is None) == (self.flops is None):
            raise UsageError("the best depth is for a budget.", "Give one of --params 7e9 and --flops 1e22.")
        if self.goal != "best-depth" and not (self.params is self.flops is None):
            raise UsageError("--params and --flops belong to --goal best-depth.")
        if self.resamples < 8:
            raise UsageError(f"{self.resamples} resamples are too few to be robust over.", "Use 8 or more.")
        check_counts(self, 1, "most", "repeats", "resamples")
        check_counts(self, 0, "seed")
        check_positive(self, "params", "flops", "widths", "depths", "tokens_grid")
        check_level(self.level)
