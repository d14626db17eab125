"""Traces as tables: one row a cell, one row a prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.interventions.passes import Passes
from depthlaw.interventions.positions import Placed
from depthlaw.interventions.tracing import Restored

if TYPE_CHECKING:
    import pyarrow as pa

CELL_UNITS = {
    "prompt": "1",
    "kind": "1",
    "block": "1",
    "token": "1",
    "cone": "1",
    "probability": "1",
    "probability_stderr": "1",
    "logit": "nats",
    "logit_stderr": "nats",
    "rank": "1",
}
"""Columns of the table of cells; ``cone`` says which were run and which are known without."""

PROMPT_UNITS = {
    "prompt": "1",
    "id": "1",
    "text": "1",
    "subject": "1",
    "target": "1",
    "words": "1",
    "subject_first": "1",
    "subject_end": "1",
    "predict": "1",
    "target_tokens": "1",
    "p_clean": "1",
    "p_corrupt": "1",
    "p_corrupt_stderr": "1",
    "logit_clean": "nats",
    "logit_corrupt": "nats",
    "rank_clean": "1",
    "rank_corrupt": "1",
    "invariant_difference": "1",
    "rows_run": "1",
}
"""Columns of the table of prompts."""


def cell_table(restored: Restored, numbers: Sequence[int]) -> pa.Table:
    """Return the cells of a group.

    Parameters
    ----------
    numbers
        Number of each prompt of the group in the whole set.
    """
    import pyarrow as pa

    probability = np.exp(restored.values[..., 0])
    logit, rank = restored.values[..., 1], restored.values[..., 2]
    cells = restored.cells
    return pa.table(
        {
            "prompt": [numbers[cell.prompt] for cell in cells],
            "kind": [cell.kind for cell in cells],
            "block": [cell.block for cell in cells],
            "token": [cell.token for cell in cells],
            "cone": [str(cell.cone) for cell in cells],
            "probability": probability.mean(1),
            "probability_stderr": stderr(probability),
            "logit": logit.mean(1),
            "logit_stderr": stderr(logit),
            "rank": rank.mean(1),
        }
    )


def prompt_table(
    group: Sequence[Placed],
    numbers: Sequence[int],
    passes: Passes,
    invariant_difference: float,
    rows_run: int,
) -> pa.Table:
    """Return one row a prompt of a group; what belongs to the group as a whole is repeated."""
    import pyarrow as pa

    readings = passes.readings.numpy()
    p = np.exp(readings[..., 0])
    rows: list[dict[str, Any]] = [
        {
            "prompt": number,
            "id": placed.prompt.id,
            "text": placed.prompt.prompt,
            "subject": placed.prompt.subject,
            "target": placed.prompt.target,
            "words": list(placed.words),
            "subject_first": placed.subject[0],
            "subject_end": placed.subject[1],
            "predict": placed.predict,
            "target_tokens": len(placed.target),
            "p_clean": float(p[place, 0]),
            "p_corrupt": float(p[place, 1:].mean()),
            "p_corrupt_stderr": float(stderr(p[place, None, 1:])[0]),
            "logit_clean": float(readings[place, 0, 1]),
            "logit_corrupt": float(readings[place, 1:, 1].mean()),
            "rank_clean": int(readings[place, 0, 2]),
            "rank_corrupt": float(readings[place, 1:, 2].mean()),
            "invariant_difference": invariant_difference,
            "rows_run": rows_run,
        }
        for place, (placed, number) in enumerate(zip(group, numbers, strict=True))
    ]
    return pa.Table.from_pylist(rows)


def stderr(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard error over draws, (cells, samples) → (cells,); NaN for a single draw."""
    n = values.shape[1]
    if n < 2:
        return np.full(len(values), math.nan)
    error: NDArray[np.float64] = values.std(axis=1, ddof=1) / math.sqrt(n)
    # Equal values are exactly certain; their mean may round.
    return np.where(np.ptp(values, axis=1) > 0, error, 0.0)
