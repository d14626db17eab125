"""Initial weights of teachers and students, as NumPy arrays that every engine reads.

Source: paper App. C. A and b are uniform ±1/√width, B uniform ±1/√hidden. ρ between 0 and 1 is ours:
√ρ·shared + √(1−ρ)·own keeps the variance and gives the blocks' weights the correlation ρ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depthlaw.lab.config import LabConfig
from depthlaw.lab.streams import Purpose, generator

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Network:
    """Weights of one network.

    Attributes
    ----------
    A
        (blocks, stages, hidden, width).
    b
        (blocks, stages, hidden).
    B
        (blocks, stages, width, hidden).
    head
        (classes, width), or ``None``.
    """

    A: Array
    b: Array
    B: Array
    head: Array | None = None

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self.A)

    def as_dict(self) -> dict[str, Array]:
        """Return the arrays by name, the head only if there is one."""
        found = {"A": self.A, "b": self.b, "B": self.B}
        return found if self.head is None else {**found, "head": self.head}


def draw_teacher(config: LabConfig, replicate: int, rho: float) -> Network:
    """Draw the teacher of a replicate; teachers of one replicate share their draws for every ρ."""
    shape = (config.teacher.depth, 1)
    own = _draw(config, generator(config.seed, replicate, Purpose.TEACHER_OWN), shape)
    shared = _draw(config, generator(config.seed, replicate, Purpose.TEACHER_SHARED), (1, 1))
    A, b, B = (np.sqrt(rho) * s + np.sqrt(1 - rho) * o for s, o in zip(shared, own, strict=True))
    head = None
    if config.head != "none":
        rng = generator(config.seed, replicate, Purpose.TEACHER_HEAD)
        size = (config.classes, config.width)
        fixed = config.head == "fixed"
        head = rng.standard_normal(size) if fixed else rng.uniform(-1, 1, size)
        head /= np.sqrt(config.width)
    return _cast(config, A, b, B * config.teacher.factor, head)


def draw_student(
    config: LabConfig, replicate: int, depth: int, temperature: float | None, teacher: Network
) -> Network:
    """Draw a student: its own A and b, B = 0; a learned head starts at 0, a fixed one is the teacher's."""
    # The stream is named by the values, not by their place in a list.
    label = np.float32(0 if temperature is None else temperature).view(np.uint32)
    rng = generator(config.seed, replicate, Purpose.STUDENT, depth, int(label))
    A, b, B = _draw(config, rng, (depth, config.student.method.stages))
    learned = config.head == "learned" and teacher.head is not None
    return _cast(config, A, b, np.zeros_like(B), np.zeros_like(teacher.head) if learned else teacher.head)


def _draw(config: LabConfig, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    by_width, by_hidden = config.width**-0.5, config.hidden**-0.5
    return (
        rng.uniform(-by_width, by_width, (*shape, config.hidden, config.width)),
        rng.uniform(-by_width, by_width, (*shape, config.hidden)),
        rng.uniform(-by_hidden, by_hidden, (*shape, config.width, config.hidden)),
    )


def _cast(config: LabConfig, A: Array, b: Array, B: Array, head: Array | None) -> Network:
    dtype = np.dtype(config.dtype)
    return Network(
        A.astype(dtype), b.astype(dtype), B.astype(dtype), None if head is None else head.astype(dtype)
    )
