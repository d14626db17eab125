"""What of a probe is compared between models: angles layer by layer, and how they were taken."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.data.manifest import NAME, read_manifest
from depthlaw.errors import InputError, UsageError, no_such_file
from depthlaw.numerics.streaming import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from depthlaw.probe.result import ProbeResult

_SAME = ("text", "dtype", "limit", "max_length", "batching", "bos", "mode")
"""What models must share to be compared."""


@dataclass(frozen=True)
class Profile:
    """Angles between neighbouring states of one model.

    Attributes
    ----------
    name
        Of the model.
    theta
        (layers,) mean over tokens of θ(h_l, h_{l+1}), radians; as many layers as blocks.
    theta_median
        (layers,) median over tokens; NaN when not known.
    theta_rest
        (layers,) mean without first tokens of documents; NaN when not known.
    stderr
        Of the mean in the middle, over documents; NaN when not known.
    width
        Of the states; 0 when not known.
    conditions
        How it was measured, for comparing: text, limit and the like.
    run_id
        Of the probe's run folder; empty without one.
    """

    name: str
    theta: Array
    theta_median: Array
    theta_rest: Array
    stderr: float = math.nan
    width: int = 0
    conditions: tuple[tuple[str, str], ...] = ()
    run_id: str = ""

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self.theta)


def profile_from_means(name: str, theta: Any, *, width: int = 0) -> Profile:
    """A profile of nothing but mean angles (layers,), radians.

    Raises
    ------
    UsageError
        When the array has another shape.
    """
    angles = np.asarray(theta, dtype=np.float64)
    if angles.ndim != 1 or not len(angles):
        raise UsageError(f"{name}: angles must be one number a layer, not an array of shape {angles.shape}.")
    unknown = np.full(len(angles), np.nan)
    return Profile(name, angles, unknown, unknown, width=width)


def profile_of(result: ProbeResult) -> Profile:
    """The profile of a probe."""
    text = _text(result.text, result.text_identity)
    known = {**result.settings, "text": text, "dtype": result.dtype}
    return _profile(result.model, result.width, known, result.summary)


def read_profile(folder: str | Path) -> Profile:
    """The profile of a probe from its run folder.

    Raises
    ------
    InputError
        When there is no finished probe in it.
    """
    place = Path(folder)
    if not place.exists():
        raise no_such_file(folder)
    if not (place / NAME).exists():
        raise InputError(f"{folder}: holds no run.", "Give a folder that depthlaw probe --out wrote.")
    manifest = read_manifest(place)
    if manifest.verb != "probe":
        raise InputError(f"{folder}: holds a run of depthlaw {manifest.verb}, not of depthlaw probe.")
    if manifest.status != "done":
        raise InputError(
            f"{folder}: this probe is not finished ({manifest.status}).", "Run the same command to finish it."
        )
    import pyarrow.parquet as pq

    result = json.loads((place / "result.json").read_bytes())
    text = _text(result["text"], manifest.identity.get("text"))
    known = {**result["settings"], "text": text, "dtype": result["dtype"]}
    profile = _profile(result["model"], result["width"], known, pq.read_table(place / "summary.parquet"))
    return replace(profile, run_id=manifest.id)


def _text(name: str, identity: str | None) -> str:
    """A text by its name and, where it is known, its content: two folders may hold files of one name."""
    known = "" if identity is None else f" ({identity[:8]})"
    return Path(name).name + known


def _profile(model: str, width: int, known: Mapping[str, Any], summary: pa.Table) -> Profile:
    rows = summary.to_pylist()

    def column(quantity: str, tokens: str, statistic: str) -> Array:
        found = [
            (row["layer"], row[statistic])
            for row in rows
            if row["quantity"] == quantity and row["tokens"] == tokens
        ]
        return np.array([value for _, value in sorted(found)], dtype=np.float64)

    theta = column("theta_state", "all", "mean")
    error = column("theta_middle", "all", "stderr")
    return Profile(
        Path(model).name if "/" in model else model,
        theta,
        column("theta_state", "all", "q50"),
        column("theta_state", "rest", "mean"),
        float(error[0]) if len(error) else math.nan,
        width,
        tuple((name, str(known.get(name))) for name in _SAME),
    )
