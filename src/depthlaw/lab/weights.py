"""Final weights of a task's students as a file of the run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from depthlaw.lab import checkpoint
from depthlaw.lab.engine import Array, StudentKey
from depthlaw.lab.networks import Network
from depthlaw.lab.training import Task


def weights_name(task: Task) -> str:
    """Name of a task's weights within the run folder."""
    return f"weights/{task.name}.safetensors"


def weights_bytes(networks: Mapping[StudentKey, Network], engine: str) -> bytes:
    """Write networks and the name of the engine that trained them."""
    arrays = {
        f"{key.name}.{name}": array
        for key, network in networks.items()
        for name, array in network.as_dict().items()
    }
    return checkpoint.to_bytes(arrays, {"engine": engine})


def read_weights(
    folder: Path, task: Task, keys: Sequence[StudentKey]
) -> tuple[dict[StudentKey, Network], str]:
    """Read what `weights_bytes` wrote: networks by student, and the engine's name."""
    arrays, about = checkpoint.read(folder / weights_name(task))
    return {key: _network(arrays, key) for key in keys}, about.get("engine", "")


def _network(arrays: Mapping[str, Array], key: StudentKey) -> Network:
    A, b, B = (arrays[f"{key.name}.{name}"] for name in ("A", "b", "B"))
    return Network(A, b, B, arrays.get(f"{key.name}.head"))
