"""Laboratory runs behind the figures, at three scales; one run serves every figure that needs it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from depthlaw.lab.config import LabConfig, Rate, Student, Teacher
from depthlaw.lab.experiment import train_lab
from depthlaw.lab.presets import preset
from depthlaw.lab.result import LabResult
from depthlaw.lab.training import Progress
from depthlaw.places import folders
from depthlaw.plurals import counted
from depthlaw.reproduce.cached import kept_or_anew, seldom
from depthlaw.reproduce.registry import Scale

log = logging.getLogger(__name__)

REPLICATES = 3
"""As many teachers as the paper has for every temperature and ρ."""


def configuration(name: str, scale: Scale) -> LabConfig:
    """Return a preset at a scale; ``paper`` is the protocol itself.

    Reduced scales keep the protocol's loss, head, block and rules. Their teachers and students are shallower,
    so that depths which show the exponent converge within few steps, with a rate that suits few steps.
    """
    whole = preset(name)
    if scale == "paper":
        return replace(whole, replicates=REPLICATES)
    smoke = scale == "smoke"
    midpoint = whole.student.order == 2
    depths: tuple[int, ...] = (1, 2, 4) if midpoint else (2, 4, 8)
    if not smoke:
        depths = (1, 2, 3, 4, 6) if midpoint else (2, 3, 4, 6, 8, 12)
    steps = 60 if smoke else 3000
    return replace(
        whole,
        steps=steps,
        batch=64 if smoke else 256,
        log_every=steps // 6,
        test_every=steps // 6 if whole.test_every else 0,
        test_batches=4 if smoke else 10,
        temperatures=_spread(whole.temperatures, 2 if smoke else 3),
        teacher=Teacher(depth=8 if smoke else 32),
        student=Student(depths=depths, order=whole.student.order),
        rate=Rate(2 * whole.rate.base, whole.rate.per_depth, whole.rate.rule),
    )


def _spread(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    """Choose ``count`` of the upper half of the values, the last among them: cold ones take longest."""
    upper = values[len(values) // 2 :]
    return tuple(upper[round(k * (len(upper) - 1) / (count - 1))] for k in range(count)) if values else ()


@cache
def lab_run(name: str, scale: Scale) -> LabResult:
    """Train a preset at a scale, or read what an earlier call has trained.

    Runs longer than seconds are kept in ``$DEPTHLAW_CACHE/lab``, where an interrupted one is continued.
    """
    config = configuration(name, scale)
    cached = folders()["DEPTHLAW_CACHE"]
    if scale == "smoke" or cached is None:
        return train_lab(config, progress=_logged(name))
    out = cached / "lab" / f"{name}-{scale}"

    def run(*, resume: bool) -> LabResult:
        return train_lab(config, out=out, resume=resume, progress=_logged(name))

    return kept_or_anew(out, run)


def _logged(name: str) -> Callable[[Progress], None]:
    """Report to the log, seldom."""

    def say(state: Progress) -> None:
        log.info(
            "%s, task %d of %d: step %d of %d, %.3g steps/s",
            name, state.number, state.tasks, state.step, state.steps, state.rate,
        )  # fmt: skip

    return seldom(say)


def described(config: LabConfig, name: str, scale: Scale) -> str:
    """Say what was run."""
    temperatures = f", {counted(len(config.temperatures), 'temperature')}" if config.temperatures else ""
    return (
        f"preset {name} at scale {scale}: {counted(config.replicates, 'teacher')} of "
        f"{counted(config.teacher.depth, 'block')}, "
        f"students of {' '.join(map(str, config.student.depths))} blocks{temperatures}, "
        f"{config.steps} steps of {config.batch} samples, seed {config.seed}"
    )


def reduced_reference(scale: Scale) -> str:
    """Say what ours is held against at a scale that is not the paper's; nothing for the paper's own."""
    if scale == "paper":
        return ""
    return (
        f"REDUCED SCALE ({scale}): 'published' is what this scale has shown with other seeds, not the "
        "paper's number; exponents of the paper need its own schedule (--scale paper)."
    )


def units_of(*tables: Mapping[str, str]) -> dict[str, Any]:
    """Merge units of columns."""
    merged: dict[str, Any] = {}
    for table in tables:
        merged |= table
    return merged
