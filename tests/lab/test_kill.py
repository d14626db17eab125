"""Killed without warning at random moments and started again: the same bytes as never stopped."""

from __future__ import annotations

import multiprocessing
import random
from dataclasses import replace
from pathlib import Path

import pytest

from depthlaw.lab.config import LabConfig, Student, Teacher, seconds
from depthlaw.lab.experiment import train_lab

RESULTS = ("metrics.parquet", "test_batches.parquet", "students.parquet", "weights/replica0_rho0.safetensors")


def outlived(config: LabConfig, out: Path, kills: int, longest: float, seed: int) -> int:
    """Run and kill until the run is done or has been killed so often; return how often that was."""
    # A server that has torch loaded and no threads: a life is then spent on training, not on importing.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["__main__", "depthlaw.lab.experiment", "depthlaw.lab.torch_engine", "torch._dynamo"]
    )
    first = context.Process(target=seconds, args=("0s",))  # until it has ended the server is still importing
    first.start()
    first.join()
    draw = random.Random(seed)
    for killed in range(kills):
        process = context.Process(target=train_lab, args=(config,), kwargs={"out": out})
        process.start()
        process.join(draw.uniform(0.0, longest))
        if process.exitcode is not None:
            assert process.exitcode == 0
            return killed
        process.kill()
        process.join()
    return kills


def check(config: LabConfig, folder: Path, kills: int, longest: float) -> int:
    train_lab(config, out=folder / "whole")
    killed = outlived(config, folder / "parts", kills, longest, config.threads or 0)
    train_lab(config, out=folder / "parts")
    for name in RESULTS:
        assert (folder / "parts" / name).read_bytes() == (folder / "whole" / name).read_bytes(), name
    return killed


def test_killed_and_continued_is_the_same_to_the_byte(small, engine: str, tmp_path: Path) -> None:
    config = small(engine=engine, steps=300, log_every=20, checkpoint_every="0.05s")
    check(config, tmp_path, kills=3, longest=1.0)


LONG = LabConfig(
    steps=6000,
    log_every=100,
    test_every=500,
    test_batches=4,
    batch=512,
    teacher=Teacher(depth=32),
    student=Student(depths=(6, 12, 16)),
    checkpoint_every="2s",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "threads", "steps"),
    # The torch engine takes several times as long a step.
    [("fused", 1, 6000), ("fused", 2, 6000), ("fused", 4, 6000), ("torch", 1, 1500), ("torch", 2, 1500)],
)
def test_killed_twenty_times_is_the_same_to_the_byte(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, threads: int, steps: int
) -> None:
    if engine == "fused":
        request.getfixturevalue("kernel")
    config = replace(LONG, engine=engine, threads=threads, steps=steps)
    killed = check(config, tmp_path, kills=20, longest=6.0)
    print(f"{engine}, {threads} threads, {steps} steps: killed {killed} times")
    assert killed >= 5, "too short a run to be killed often"
