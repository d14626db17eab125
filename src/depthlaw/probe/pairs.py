"""Criteria of layers and pairs of layers as one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from depthlaw.probe.gather import GROUPS, Gathered

PAIR_UNITS = {"criterion": "1", "tokens": "1", "layer": "1", "other": "1", "value": "1", "count": "tokens"}
"""Columns of the table with their units; angular distances are in half turns."""


def pairs_table(gathered: Gathered) -> pa.Table:
    """Return block influence (layer to layer + 1), CKA and angular distance of states (layer, other).

    Each of all tokens and without first tokens (``rest``).
    """
    rows: dict[str, list[Any]] = {name: [] for name in PAIR_UNITS}

    def add(*row: Any) -> None:
        for name, item in zip(rows, row, strict=True):
            rows[name].append(item)

    for tokens in GROUPS:
        found = gathered.relations(tokens)
        for layer, value in enumerate(found.influence.tolist()):
            add("block_influence", tokens, layer, layer + 1, value, found.n_influence)
        for name, matrix, count in (
            ("cka", None if found.cka is None else found.cka.value, found.n_cka),
            ("angular_distance", found.distance, found.n_distance),
        ):
            if matrix is not None:
                for low, high in np.transpose(np.triu_indices(len(matrix), 1)).tolist():
                    add(name, tokens, low, high, float(matrix[low, high]), count)
    types = [pa.string(), pa.string(), pa.int64(), pa.int64(), pa.float64(), pa.int64()]
    return pa.table(rows, schema=pa.schema(list(zip(rows, types, strict=True))))
