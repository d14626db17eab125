"""Everything that defines a laboratory experiment, and what combinations make sense.

The defaults are the protocol `mse` of the paper (App. C, exp-9-2) with independent teacher blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from depthlaw.data.bounds import check_counts, check_finite, check_positive
from depthlaw.data.config import LOCAL
from depthlaw.errors import UsageError
from depthlaw.numerics.runge_kutta import BY_ORDER, Tableau, from_flat


@dataclass(frozen=True)
class Teacher:
    """The network to be imitated.

    Attributes
    ----------
    depth
        Number of blocks ℓ*.
    scale
        What its B are multiplied with: ``sqrt`` 1/√ℓ* (the paper's), or ``flow`` √128/ℓ*, which holds the
        total flow time of a tied teacher fixed at that of the paper's ℓ* = 128.
    """

    depth: int = 128
    scale: Literal["sqrt", "flow"] = "sqrt"

    @property
    def factor(self) -> float:
        """The number that B is multiplied with."""
        return self.depth**-0.5 if self.scale == "sqrt" else math.sqrt(128) / self.depth


@dataclass(frozen=True)
class Student:
    """The networks that learn.

    Attributes
    ----------
    depths
        Number of blocks of each, different, in any order.
    order
        Block: 1 residual, 2 midpoint, 4 classical Runge–Kutta, with one MLP per stage.
    tableau
        Any explicit Runge–Kutta tableau instead of ``order``: a_21, a_31, a_32, … row by row, then b_1 … b_s.
    """

    depths: tuple[int, ...] = (6, 12, 16, 24, 32, 48)
    order: Literal[1, 2, 4] = 1
    tableau: tuple[float, ...] = ()

    @property
    def method(self) -> Tableau:
        """How the stages of a block are put together."""
        return from_flat(self.tableau) if self.tableau else BY_ORDER[self.order]


@dataclass(frozen=True)
class Rate:
    """Adam's learning rate.

    Attributes
    ----------
    base
        Before the factors below.
    per_depth
        Whether to divide by the square root of a student's depth.
    rule
        ``constant``, or ``decay``: constant to 80 % of the steps, then linear to 10 %.
    """

    base: float = 1.2e-3
    per_depth: bool = True
    rule: Literal["constant", "decay"] = "decay"

    def at(self, step: int, steps: int, depth: int) -> float:
        """Learning rate of step ``step`` (from 0) of ``steps`` for a student of ``depth`` blocks."""
        rate = self.base / math.sqrt(depth) if self.per_depth else self.base
        late = (step / steps - 0.8) / 0.2
        return rate * (1 - 0.9 * late) if self.rule == "decay" and late > 0 else rate


@dataclass(frozen=True)
class LabConfig:
    """One experiment: for each replicate and each ρ a teacher, and students of every depth and temperature.

    Attributes
    ----------
    loss
        ``mse`` of normalised final states, or ``kl`` of the teacher's from the student's class probabilities.
    head
        Linear map to classes: ``learned`` by the student, ``fixed`` (the teacher's own, not trained), or
        ``none``.
    rho
        Correlation of the teacher's blocks, one task each: 0 independent, 1 all equal.
    temperatures
        The teacher's logits are divided by these; students for each (``kl`` only; empty: 1).
    temperature_of
        Whether only the ``teacher``'s logits are divided, or those of ``both``.
    width
        Of the residual stream, m.
    hidden
        Hidden width of the MLPs.
    classes
        Number of classes (``kl`` only).
    steps
        Training steps.
    batch
        Samples in a step.
    test_every
        Steps between tests; 0 tests at the end only.
    test_batches
        Fresh batches for a test.
    log_every
        Steps between rows of the metrics.
    replicates
        Number of teachers for each ρ.
    first_replicate
        Number of the first replicate, to spread them over machines.
    seed
        Spawns a stream for everything random.
    dtype
        Of weights and arithmetic.
    teacher, student, rate
        See their own.
    engine
        What trains: ``torch`` runs anywhere, ``fused`` is the compiled CPU kernel; ``auto`` takes the faster
        one that can.
    device
        ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
    threads
        CPU threads; when not given OMP_NUM_THREADS, else all cores that this process may use.
    checkpoint_every
        Time between checkpoints of a run with a folder: 60s, 5m, 1h.
    """

    loss: Literal["mse", "kl"] = "mse"
    head: Literal["learned", "fixed", "none"] = "none"
    rho: tuple[float, ...] = (0.0,)
    temperatures: tuple[float, ...] = ()
    temperature_of: Literal["teacher", "both"] = "teacher"
    width: int = 32
    hidden: int = 128
    classes: int = 128
    steps: int = 40_000
    batch: int = 1024
    test_every: int = 500
    test_batches: int = 10
    log_every: int = 500
    replicates: int = 1
    first_replicate: int = 0
    seed: int = 0
    dtype: Literal["float32", "float64"] = "float32"
    teacher: Teacher = Teacher()
    student: Student = Student()
    rate: Rate = Rate()
    engine: Literal["auto", "torch", "fused"] = field(default="auto", metadata=LOCAL)
    device: str = field(default="auto", metadata=LOCAL)
    threads: int | None = field(default=None, metadata=LOCAL)
    checkpoint_every: str = field(default="60s", metadata=LOCAL)

    def __post_init__(self) -> None:
        """Refuse what cannot be meant.

        Raises
        ------
        UsageError
            Numbers out of range, doubles, a head or temperatures without a loss that uses them.
        """
        _check_numbers(self)
        _check_combination(self)
        seconds(self.checkpoint_every)
        self.student.method  # noqa: B018 - raises for an impossible tableau

    @property
    def task_temperatures(self) -> tuple[float | None, ...]:
        """Temperatures of one task; ``(None,)`` where the loss has none."""
        return (self.temperatures or (1.0,)) if self.loss == "kl" else (None,)


def seconds(text: str) -> float:
    """Read a duration such as ``60s``, ``2m``, ``1h`` or ``90``.

    Raises
    ------
    UsageError
        For anything else.
    """
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    try:
        value = float(number) * units[unit]
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise UsageError(f'checkpoint_every is "{text}", which is no duration.', "For example 60s, 5m or 1h.")
    return value


def _check_numbers(config: LabConfig) -> None:
    student = config.student
    check_counts(config, 1, "student.depths", "teacher.depth", "width", "hidden", "classes", "steps", "batch")
    check_counts(config, 1, "test_batches", "log_every", "replicates", "threads")
    check_counts(config, 0, "seed", "first_replicate", "test_every")
    check_positive(config, "rate.base", "temperatures")
    check_finite(config, "student.tableau")
    for rho in config.rho:
        if not 0 <= rho <= 1:
            raise UsageError(f"rho must be from 0 to 1, not {rho:g}.")
    for name, values in (("rho", config.rho), ("student.depths", student.depths)):
        if not values:
            raise UsageError(f"{name} is empty.", "Give at least one.")
    for name, values in (
        ("rho", config.rho),
        ("temperatures", config.temperatures),
        ("student.depths", student.depths),
    ):
        if len(set(values)) < len(values):
            raise UsageError(f"{name} holds a value twice: {', '.join(map(str, values))}.")
        if alike := _printed_alike(values):
            raise UsageError(
                f"{name} {alike[0]} and {alike[1]} are both {alike[0]:g} to six digits, as files are named.",
                "Take values that are further apart.",
            )


def _printed_alike(values: Iterable[float]) -> tuple[float, float] | None:
    """The first two values that names of files and arrays cannot tell apart (`Task`, `StudentKey`)."""
    seen: dict[str, float] = {}
    for value in values:
        if (other := seen.setdefault(f"{value:g}", value)) != value:
            return other, value
    return None


def _check_combination(config: LabConfig) -> None:
    if config.loss == "mse" and config.head != "none":
        raise UsageError(
            f"loss mse compares final states and has no use for head {config.head}.", "Take --head none."
        )
    if config.loss == "kl" and config.head == "none":
        raise UsageError("loss kl needs a head.", "Take --head learned or --head fixed.")
    if config.loss == "mse" and config.temperatures:
        raise UsageError("temperatures make sense for loss kl only.", "Leave them out, or take --loss kl.")
    if config.test_every % config.log_every:
        raise UsageError(
            f"test_every ({config.test_every}) is not a multiple of log_every ({config.log_every}).",
            f"Each test belongs to a row of the metrics: take --log-every {config.test_every} too.",
        )
