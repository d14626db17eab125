"""What an engine is told of the machine it runs on."""

from __future__ import annotations

import os

import pytest

from depthlaw.lab.engine import thread_count


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may use three cores, whatever the machine has."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)


@pytest.mark.parametrize(
    ("asked", "variable", "expected"),
    [
        (None, None, 3),
        (None, "7", 7),
        (2, "7", 2),
        (None, "", 3),
        (None, "0", 3),
        (None, "-1", 3),
        (None, "4,2", 4),  # a list for nested regions, as OpenMP has it
        (None, "many", 3),
    ],
)
def test_threads_are_as_asked_else_as_openmp_is_told_else_all_cores(
    small, cores: None, monkeypatch: pytest.MonkeyPatch, asked, variable, expected: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert thread_count(small(threads=asked)) == expected


def test_the_torch_engine_takes_that_many(small, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from depthlaw.lab.training import Task, Trainer

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    Trainer(small(threads=None), Task(0, 0.0))
    assert torch.get_num_threads() == 3


def test_threads_make_no_other_result(small, kernel: None) -> None:
    from depthlaw.lab.training import Task, Trainer

    losses = []
    for threads in (1, 2, 3):
        trainer = Trainer(small(engine="fused", threads=threads), Task(0, 0.0))
        losses.append([trainer.advance().tolist() for _ in range(5)])
    assert losses[0] == losses[1] == losses[2]
