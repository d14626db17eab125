"""What training measured, as tidy tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.lab.engine import StudentKey
from depthlaw.lab.training import Curves, Task

if TYPE_CHECKING:
    import pyarrow as pa

UNITS = {
    "replica": "number",
    "temperature": "1",
    "rho": "1",
    "depth": "blocks",
    "step": "steps",
    "batch": "number",
    "train_loss": "loss",
    "test_loss": "loss",
    "diverged": "steps",
    "saturated": "steps",
    "untrained_loss": "loss",
}
"""Of every column. A loss is a mean square (``mse``) or in nats (``kl``), as the configuration says."""


def metrics_table(task: Task, keys: Sequence[StudentKey], curves: Curves) -> pa.Table:
    """One row per student and logged step: mean training loss since the row before, and mean test loss.

    A student's rows end where it diverged. ``test_loss`` is null where no test was due, ``temperature`` where
    the loss has none.
    """
    import pyarrow as pa

    rows = [
        (task.replica, key.temperature, task.rho, key.depth, step, _or_none(train[at]), _mean(test[at]))
        for at, key in enumerate(keys)
        for step, train, test in zip(curves.step, curves.train, curves.test, strict=True)
        if np.isfinite(train[at])
    ]
    names = ("replica", "temperature", "rho", "depth", "step", "train_loss", "test_loss")
    kinds = (pa.int64(), pa.float64(), pa.float64(), pa.int64(), pa.int64(), pa.float64(), pa.float64())
    return _table(rows, names, kinds)


def batches_table(task: Task, keys: Sequence[StudentKey], curves: Curves) -> pa.Table:
    """One row per student, tested step and test batch; all students see the same batches."""
    import pyarrow as pa

    rows = [
        (task.replica, key.temperature, task.rho, key.depth, step, batch, float(loss))
        for at, key in enumerate(keys)
        for step, test in zip(curves.step, curves.test, strict=True)
        for batch, loss in enumerate(test[at])
        if np.isfinite(loss)
    ]
    names = ("replica", "temperature", "rho", "depth", "step", "batch", "test_loss")
    kinds = (pa.int64(), pa.float64(), pa.float64(), pa.int64(), pa.int64(), pa.int64(), pa.float64())
    return _table(rows, names, kinds)


def students_table(
    task: Task,
    keys: Sequence[StudentKey],
    stopped: Sequence[int],
    saturated: Sequence[int],
    untrained: Sequence[float],
) -> pa.Table:
    """One row per student: what went wrong with it, if anything did.

    ``diverged`` is the step at which its loss was not finite, ``saturated`` the one since which it was worse
    than untrained; null if never. ``untrained_loss`` is its test loss before the first step.
    """
    import pyarrow as pa

    rows = [
        (task.replica, key.temperature, task.rho, key.depth, _step(diverged), _step(since), float(loss))
        for key, diverged, since, loss in zip(keys, stopped, saturated, untrained, strict=True)
    ]
    names = ("replica", "temperature", "rho", "depth", "diverged", "saturated", "untrained_loss")
    whole, real = pa.int64(), pa.float64()
    kinds = (whole, real, real, whole, whole, whole, real)
    return _table(rows, names, kinds)


def _table(rows: Sequence[tuple[Any, ...]], names: Sequence[str], kinds: Sequence[pa.DataType]) -> pa.Table:
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=list(names))


def _step(step: int) -> int | None:
    return None if step < 0 else int(step)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if np.isfinite(values).all() and len(values) else None


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
