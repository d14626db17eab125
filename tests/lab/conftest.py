from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import pytest

from depthlaw.lab.config import LabConfig, Student, Teacher

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]

SMALL = LabConfig(
    steps=40,
    test_every=20,
    log_every=10,
    batch=48,
    test_batches=3,
    hidden=64,
    width=16,
    classes=24,
    threads=1,
    teacher=Teacher(depth=8),
    student=Student(depths=(2, 5, 3)),
    engine="torch",
)
"""Trains in a fraction of a second."""


@pytest.fixture
def small():
    """Return the small configuration with changes."""

    def changed(**settings: Any) -> LabConfig:
        return replace(SMALL, **settings)

    return changed


@pytest.fixture
def kernel() -> None:
    """Skip where the kernel is not built."""
    from depthlaw.tensors import fused

    found = fused.available()
    if isinstance(found, fused.Unavailable):
        pytest.skip(found.reason)


@pytest.fixture(params=["torch", "fused"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "fused":
        request.getfixturevalue("kernel")
    return request.param


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Small matrices on a busy machine: threads would mostly wait for each other."""
    import torch

    torch.set_num_threads(1)
