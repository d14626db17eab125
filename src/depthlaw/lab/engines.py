"""Which engine trains a task here."""

from __future__ import annotations

from collections.abc import Sequence

from depthlaw.errors import UsageError
from depthlaw.lab.config import LabConfig
from depthlaw.lab.engine import Engine, StudentKey, find_device, require_torch
from depthlaw.lab.networks import Network
from depthlaw.numerics.runge_kutta import MIDPOINT, RESIDUAL


def make_engine(
    config: LabConfig, teacher: Network, keys: Sequence[StudentKey], students: Sequence[Network]
) -> Engine:
    """Build the engine that ``config.engine`` names; ``auto`` takes the fastest that can do this task here.

    Raises
    ------
    UsageError
        When the engine or device named is not there, or cannot do this task.
    InputError
        When torch is not installed.
    """
    require_torch()
    why_not = _why_not_fused(config)
    if config.engine == "fused" or (config.engine == "auto" and why_not is None):
        if why_not is not None:
            raise UsageError(f"engine fused cannot run this: {why_not}.", "Take --engine torch.")
        from depthlaw.lab.fused_engine import FusedEngine

        return FusedEngine(config, teacher, keys, students)
    from depthlaw.lab.torch_engine import TorchEngine

    return TorchEngine(config, teacher, keys, students)


def _why_not_fused(config: LabConfig) -> str | None:
    """Say why the compiled kernel cannot train this here; ``None`` when it can."""
    if config.student.method not in (RESIDUAL, MIDPOINT):
        return "its blocks are residual or midpoint only"
    device = find_device(config.device)
    if device != "cpu":
        return f"it runs on the CPU, and the device is {device}"
    try:
        from depthlaw.tensors import fused

        found = fused.available()
    except (ImportError, NotImplementedError):
        return "this installation has no compiled kernel"
    return found.reason if isinstance(found, fused.Unavailable) else None
