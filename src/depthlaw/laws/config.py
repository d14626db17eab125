"""What a fit is asked to do."""

# Annotations are not postponed here: the parser reads those of inherited fields where the heir is defined.

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from depthlaw.data.bounds import check_counts, check_level
from depthlaw.errors import UsageError
from depthlaw.laws.form import Form
from depthlaw.numerics.losses import Huber, Loss, Squares


@dataclass(frozen=True)
class LawConfig:
    """Which law to fit, and by what measure.

    Attributes
    ----------
    form
        Scales joined by +, for example "width + depth + tokens"; "auto" takes width, depth and tokens as far
        as the table has them, else params and tokens, else flops.
    floor
        Whether the law has an irreducible loss.
    depth_offset
        Count depth as depth - offset.
    fix
        Parameters held at a value: NAME=VALUE, several with commas, for example alpha_depth=1,floor=0.
    tie
        Exponents held equal: NAME=NAME, for example alpha_width=alpha_depth.
    objective
        mse of the log residuals, or huber, which outliers pull less.
    delta
        Where the Huber objective turns from squares to absolute values, in log units (0.001 is 0.1 %).
    errors
        What counts as independent: rows, clusters (checkpoints of one run), shapes (all rows of one width,
        depth and params together), or auto: clusters if there are any, else rows.
    starts
        Starting points of the optimiser, at least 64.
    """

    form: str = "auto"
    floor: bool = True
    depth_offset: float = 0.0
    fix: dict[str, float] = field(default_factory=dict)
    tie: tuple[str, ...] = ()
    objective: Literal["mse", "huber"] = "mse"
    delta: float = 1e-3
    errors: Literal["auto", "rows", "clusters", "shapes"] = "auto"
    starts: int = 128

    def __post_init__(self) -> None:
        if self.starts < 64:
            raise UsageError(f"{self.starts} starts are too few to trust their agreement.", "Use 64 or more.")
        check_counts(self, 64, "starts")
        if not 0 < self.delta < math.inf:
            raise UsageError(
                f"delta must be positive and finite, not {self.delta:g}.",
                "It is in log units: 0.001 is 0.1 %.",
            )

    def resolve(
        self, columns: Collection[str], source: str = "the table", headers: Sequence[str] = ()
    ) -> Form:
        """The form that is meant for a table with these columns.

        ``source`` and ``headers`` are what the table is called and has, for messages.

        Raises
        ------
        UsageError
            If "auto" finds no scale, or a tie is not of the form a=b.
        """
        text = self.form
        if text == "auto":
            shape = [s for s in ("width", "depth") if s in columns]
            scales = (shape or [s for s in ("params",) if s in columns]) + (
                ["tokens"] if "tokens" in columns else []
            )
            if not scales and "flops" in columns:
                scales = ["flops"]
            if not scales:
                listing = ", ".join(headers[:12]) + (", …" if len(headers) > 12 else "")
                raise UsageError(
                    f"{source} has no column for width, depth, tokens, params or flops"
                    f"{f' (have: {listing})' if listing else ''}.",
                    "Name the columns, for example --width d_model --depth n_layers --tokens seen.",
                )
            text = " + ".join(scales)
        pairs = []
        for tie in self.tie:
            left, equals, right = (part.strip() for part in tie.partition("="))
            if not (left and equals and right):
                raise UsageError(f'cannot read the tie "{tie}".', "Write alpha_width=alpha_depth.")
            pairs.append((left, right))
        form = Form.parse(text, floor=self.floor, fixed=dict(self.fix), tied=tuple(pairs))
        if self.depth_offset and form.offsets.get("depth"):
            raise UsageError(
                f"the form already has depth - {form.offsets['depth']:g}, and --depth-offset is set too.",
                "Drop one of them.",
            )
        if self.depth_offset and "depth" not in form.scales:
            raise UsageError("--depth-offset is set, but the form has no depth term.")
        return form.with_offsets({"depth": self.depth_offset}) if self.depth_offset else form


@dataclass(frozen=True)
class FitConfig(LawConfig):
    """How to fit a law.

    Attributes
    ----------
    level
        Confidence level of the intervals.
    intervals
        profile (likelihood), bootstrap, or auto: profile, but bootstrap for huber and for clusters.
    resamples
        Resamples of a bootstrap.
    seed
        Seed of the random starting points and of the resamples.
    """

    level: float = 0.95
    intervals: Literal["auto", "profile", "bootstrap"] = "auto"
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_level(self.level)
        check_counts(self, 0, "resamples", "seed")
        if self.resamples < 100:
            raise UsageError(f"{self.resamples} resamples are too few for an interval.", "Use 100 or more.")
        if self.objective == "huber" and self.intervals == "profile":
            raise UsageError(
                "the Huber objective is no likelihood and has no profile intervals.",
                "Use --intervals bootstrap.",
            )

    @property
    def loss(self) -> Loss:
        """The objective on log residuals."""
        return Huber(self.delta) if self.objective == "huber" else Squares()
