"""What an engine is: it holds one task's teacher and students and moves all of them one batch on.

The laboratory has two, `depthlaw.lab.torch_engine` (any device, any block) and `depthlaw.lab.fused_engine`
(the compiled CPU kernel); they agree to rounding.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from depthlaw.errors import InputError, unknown_name
from depthlaw.lab.config import LabConfig
from depthlaw.lab.networks import Network

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class StudentKey:
    """Which student of a task: its number of blocks and its temperature (``None``: the loss has none)."""

    depth: int
    temperature: float | None = None

    @property
    def name(self) -> str:
        """Name of its arrays in files."""
        prefix = "" if self.temperature is None else f"temperature{self.temperature:g}."
        return f"{prefix}depth{self.depth}"


class Engine(Protocol):
    """One task in training."""

    name: str

    def losses(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """Losses (students,) on a batch x (batch, width)."""
        ...

    def train(
        self, x: NDArray[np.float32], rates: Sequence[float], alive: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Take one Adam step on a batch and return the losses (students,) before it.

        Parameters
        ----------
        x
            (batch, width).
        rates
            (students,) learning rates.
        alive
            (students,) false for those to be left as they are. A student whose loss on this batch is not
            finite is left as it is too.
        """
        ...

    def networks(self) -> list[Network]:
        """Copies of the students' weights, in the order of their keys."""
        ...

    def state(self) -> dict[str, Array]:
        """Copies of everything that the next step depends on, by name."""
        ...

    def load_state(self, state: Mapping[str, Array]) -> None:
        """Go on from a state."""
        ...


def require_torch() -> None:
    """Check that torch can be imported.

    Raises
    ------
    InputError
        When it is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise InputError("the laboratory needs torch, which is not installed.", 'pip install "depthlaw[lab]"')


def find_device(name: str) -> str:
    """Resolve ``auto`` to ``cuda``, ``mps`` or ``cpu``, and check that a device named is there.

    Raises
    ------
    UsageError
        When it is not.
    """
    import torch

    have = ["cpu"]
    if torch.cuda.is_available():
        have.insert(0, "cuda")
    elif torch.backends.mps.is_available():
        have.insert(0, "mps")
    if name == "auto":
        return have[0]
    if name.partition(":")[0] not in have:
        raise unknown_name("device", name, have, flag="--device")
    return name


def thread_count(config: LabConfig) -> int:
    """Number of CPU threads: as asked for, else ``OMP_NUM_THREADS``, else one a core of this process."""
    if config.threads is not None:
        return config.threads
    # It may be a list, one number a level of nesting.
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
