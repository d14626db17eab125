"""What a plan is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from depthlaw.data.bounds import check_counts, check_level
from depthlaw.errors import UsageError
from depthlaw.planning.architecture import Architecture, Family
from depthlaw.planning.counting import NOMINAL, TRAINING_PASSES, Count

CountName = Literal["nominal", "non-embedding", "total"]
FlopName = Literal["6ND", "exact"]
Intervals = Literal["auto", "profile", "bootstrap"]

MOST = {"params": 1e18, "flops": 1e40, "tokens": 1e21}
"""Budgets beyond all sense: shapes that can be built are counted one by one."""
FEWEST = 50
"""Resamples of which quantiles still mean something."""


@dataclass(frozen=True)
class PlanConfig:
    """How to plan.

    Attributes
    ----------
    params
        Budget of parameters, as --count counts them.
    flops
        Budget of training compute in FLOP; with --params or --tokens it sets the other one.
    tokens
        Training tokens; without them and without --flops, 20 for every parameter.
    count
        What --params counts: nominal (12 m²ℓ, no embeddings), non-embedding or total (exact, of --arch).
    flop_count
        What --flops counts: 6ND (six for every parameter, as --count has it, and token), or exact (weights of
        blocks and head, and attention over the context).
    ray
        Keep to the line along which width and depth grow together in a table with one shape dial.
    shape
        Shapes to hold against the best at equal cost, such as 4096x32.
    depth_range
        Smallest and largest depth allowed.
    width_multiple
        Widths that can be built are multiples of this (and of whole heads).
    show
        How many of the best shapes that can be built are listed.
    arch
        How blocks are put together, for exact counts and the configuration to build from.
    head_dim
        Width of an attention head.
    queries_per_key
        Query heads that share a key-value head (grouped-query attention).
    mlp_ratio
        Feed-forward width over model width; by default 8/3 for gated families, 4 otherwise.
    mlp_multiple
        The feed-forward width is rounded to a multiple of this.
    vocab
        Rows of the embedding.
    tied
        Count the head and the embedding once.
    context
        Longest text in tokens, for attention FLOP and learned positions.
    intervals
        Profile likelihood or bootstrap quantiles; auto takes the profile where the fit has one.
    level
        Confidence level of the intervals; that of the fit by default.
    resamples
        Bootstrap refits.
    seed
        Seed of the resampling.
    """

    params: float | None = None
    flops: float | None = None
    tokens: float | None = None
    count: CountName = "nominal"
    flop_count: FlopName = "6ND"
    ray: bool = False
    shape: tuple[str, ...] = ()
    depth_range: tuple[int, int] | None = None
    width_multiple: int = 128
    show: int = 5
    arch: Family = "llama"
    head_dim: int = 64
    queries_per_key: int = 1
    mlp_ratio: float | None = None
    mlp_multiple: int = 64
    vocab: int = 32000
    tied: bool = False
    context: int = 2048
    intervals: Intervals = "auto"
    level: float | None = None
    resamples: int = 400
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("params", "flops", "tokens"):
            value = getattr(self, name)
            if value is not None and not 1.0 <= value <= MOST[name]:
                raise UsageError(
                    f"--{name} {value:g} is not a budget.", f"Give a number from 1 to {MOST[name]:.0e}."
                )
        if self.params and self.flops and self.tokens:
            raise UsageError("--params, --flops and --tokens are one too many.", "Two of them set the third.")
        check_level(self.level)
        if self.resamples < FEWEST:
            raise UsageError(
                f"{self.resamples} resamples are too few for an interval.", f"Use {FEWEST} or more."
            )
        if self.depth_range is not None and not 1 <= self.depth_range[0] <= self.depth_range[1]:
            raise UsageError("--depth-range needs a smallest and a largest depth.")
        check_counts(self, 1, "width_multiple", "depth_range", "resamples")
        check_counts(self, 0, "show", "seed")
        _ = self.architecture, self.shapes

    def require_budget(self) -> None:
        """Make sure that something bounds the model.

        Raises
        ------
        UsageError
            If neither parameters nor compute are given.
        """
        if self.params is None and self.flops is None:
            raise UsageError(
                "a plan needs a budget.",
                "Give params or flops, such as --params 7e9 or params=7e9 (tokens alone bound no model).",
            )

    @property
    def architecture(self) -> Architecture:
        """The family with everything but width and depth."""
        return Architecture(
            family=self.arch,
            head_dim=self.head_dim,
            queries_per_key=self.queries_per_key,
            mlp_ratio=self.mlp_ratio,
            mlp_multiple=self.mlp_multiple,
            vocab=self.vocab,
            tied=self.tied,
            context=self.context,
        )

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The shapes asked about, (width, depth) each.

        Raises
        ------
        UsageError
            For one that is not WIDTHxDEPTH.
        """
        found = []
        for text in self.shape:
            match = re.fullmatch(r"(\d+)\s*[x×X]\s*(\d+)", text.strip())
            if match is None or not int(match[1]) * int(match[2]):
                raise UsageError(f'cannot read the shape "{text}".', "Write width x depth, as in 4096x32.")
            found.append((int(match[1]), int(match[2])))
        return tuple(found)

    @property
    def parameters(self) -> Count:
        """What counts as parameters."""
        return NOMINAL if self.count == "nominal" else self.architecture.smooth(self.count)

    @property
    def per_token(self) -> Count:
        """Training FLOP per token."""
        if self.flop_count == "exact":
            return self.architecture.smooth("flops")
        return self.parameters.times(TRAINING_PASSES, f"6 N D with N = {self.parameters.label}")

    def exact_params(self, width: int, depth: int) -> float:
        """Parameters of a shape that can be built, as --count counts them."""
        if self.count == "nominal":
            return 12.0 * width * width * depth
        counted = self.architecture.count(width, depth)
        return float(counted.blocks if self.count == "non-embedding" else counted.total)

    def exact_per_token(self, width: int, depth: int) -> float:
        """Training FLOP per token of a shape that can be built."""
        if self.flop_count == "exact":
            return self.architecture.flops(width, depth)
        return TRAINING_PASSES * self.exact_params(width, depth)
