"""Criteria of layers and pairs of layers as one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from depthlaw.probe.gather import Gathered

PAIR_UNITS = {"criterion": "1", "layer": "1", "other": "1", "value": "1", "count": "tokens"}
"""Columns of the table with their units; angular distances are in half turns."""


def pairs_table(gathered: Gathered) -> pa.Table:
    """Return block influence (layer to layer + 1), CKA and angular distance of states (layer, other)."""
    rows: dict[str, list[Any]] = {name: [] for name in PAIR_UNITS}

    def add(criterion: str, layer: int, other: int, value: float, count: int) -> None:
        for name, item in zip(rows, (criterion, layer, other, value, count), strict=True):
            rows[name].append(item)

    count = int(gathered.covariance.count) if gathered.covariance is not None else 0
    for layer, value in enumerate(gathered.influence.tolist()):
        add("block_influence", layer, layer + 1, value, count)
    cka, distance = gathered.cka, gathered.distance
    if cka is not None and distance is not None:
        for low, high in np.transpose(np.triu_indices(len(distance), 1)).tolist():
            add("cka", low, high, float(cka.value[low, high]), cka.tokens)
            add("angular_distance", low, high, float(distance[low, high]), cka.tokens)
    types = [pa.string(), pa.int64(), pa.int64(), pa.float64(), pa.int64()]
    return pa.table(rows, schema=pa.schema(list(zip(rows, types, strict=True))))
