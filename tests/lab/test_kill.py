"""Killed without warning at random moments and started again: the same bytes as never stopped."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

RESULTS = ("metrics.parquet", "test_batches.parquet", "students.parquet", "weights/replica0_rho0.safetensors")
KILLS = 20
FLAGS = (  # noqa: SIM905 - a command line reads best as one
    "mse --rho 0 --steps 1500 --test-every 100 --log-every 50 --batch 256 --test-batches 4 "
    "--teacher.depth 32 --student.depths 6 12 16 --checkpoint-every 2s"
).split()


def command(out: Path, engine: str, threads: int) -> list[str]:
    where = ["--engine", engine, "--threads", str(threads), "--out", str(out)]
    return [sys.executable, "-m", "depthlaw", "lab", *FLAGS, *where]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_killed_at_random_and_continued_is_the_same_to_the_byte(
    tmp_path: Path, engine: str, threads: int
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    subprocess.run(command(whole, engine, threads), check=True, capture_output=True)
    draw = random.Random(threads)
    killed = 0
    while killed < KILLS:
        process = subprocess.Popen(
            command(parts, engine, threads), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # a checkpoint or more in most lives, none in some; and some kills hit the start or a write
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.5, 8.0))
        if process.poll() is not None:
            assert process.returncode == 0
            break
        process.kill()
        process.wait()
        killed += 1
        time.sleep(0.01)
    assert killed >= 3, "the run is too short to be killed often: give it more steps"
    subprocess.run(command(parts, engine, threads), check=True, capture_output=True)
    for name in RESULTS:
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name
