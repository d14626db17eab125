"""Progress without a terminal: one plain line now and then, with what there is to know."""

from __future__ import annotations

import numpy as np

from depthlaw.cli import lab_progress, progress
from depthlaw.lab.engine import StudentKey
from depthlaw.lab.training import Progress, Task


def state(step: int, stopped: tuple[int, ...] = (-1, -1)) -> Progress:
    keys = (StudentKey(24), StudentKey(6))
    losses = np.array([0.00123, 0.0456])
    return Progress(Task(1, 0.5), 2, 4, step, 1000, 8.0, losses, keys, np.array(stopped))


def test_a_plain_line_at_a_time(capsys, monkeypatch) -> None:
    clock = iter([0.0, 10.0, 31.0, 32.0, 62.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with lab_progress.shown_progress() as show:
        for step, stopped in ((1, (-1, -1)), (200, (-1, -1)), (210, (-1, -1)), (600, (-1, 300))):
            show(state(step, stopped))
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        "2/4 replica 1, rho 0.5: step 200/1000, 8 steps/s, 100 s left, "
        "depth 6 loss 0.0456, depth 24 loss 0.00123"
    )
    assert second.endswith("50 s left, depth 6 loss 0.0456, depth 24 loss 0.00123, 1 diverged")


def test_a_bar_on_a_terminal(capsys, monkeypatch) -> None:
    monkeypatch.setattr(lab_progress.sys.stderr, "isatty", lambda: True, raising=False)
    with lab_progress.shown_progress() as show:
        show(state(200))
        show(state(1000))
    assert "2/4 replica 1, rho 0.5" in capsys.readouterr().err
