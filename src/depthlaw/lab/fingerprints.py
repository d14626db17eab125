"""What trained networks do with their states, block by block: the laboratory's side of the probe.

Source: paper Fig. 2 and 5, for students whose way of using depth is known. The *middle* is blocks 2 … ℓ−1
counted from 1: the first and the last block are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import FitError
from depthlaw.lab.config import LabConfig
from depthlaw.lab.engine import StudentKey
from depthlaw.lab.networks import Network
from depthlaw.lab.streams import Batches, Purpose
from depthlaw.lab.training import Task
from depthlaw.laws.fit import fit
from depthlaw.numerics.runge_kutta import Tableau

if TYPE_CHECKING:
    import pyarrow as pa

QUANTITIES = ("theta_state", "theta_update", "theta_final", "norm_state", "norm_update", "projection")
UNITS = {
    "layer": "blocks",
    "theta_state": "rad",
    "theta_update": "rad",
    "theta_final": "rad",
    "norm_state": "1",
    "norm_update": "1",
    "projection": "1",
    "middle_angle": "rad",
    "middle_update_angle": "rad",
    "evenness": "1",
}
"""Of the columns that `depthlaw.lab.metrics.UNITS` does not have."""


@dataclass(frozen=True, eq=False, repr=False)
class Fingerprints(Shown):
    """Geometry of trained students.

    Attributes
    ----------
    layers
        (replica, temperature, rho, depth, layer, and each of `QUANTITIES`), means over samples; null where a
        layer has no such quantity.
    students
        (replica, temperature, rho, depth, middle_angle, middle_update_angle, evenness), see `summarise`.
    """

    layers: pa.Table
    students: pa.Table

    def to_table(self) -> pa.Table:
        """Return the summary of every student."""
        return self.students

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self.students.to_pylist()]
        return result_html("geometry of trained students", self.students.column_names, rows)


@dataclass(frozen=True)
class Summary:
    """One network in three numbers.

    Attributes
    ----------
    middle_angle
        Mean of θ(h_l, h_l+1) over samples and the middle; NaN for fewer than 3 blocks.
    middle_update_angle
        Mean of θ(Δh_l, Δh_l+1) over samples and pairs of blocks in the middle; NaN for fewer than 4.
    evenness
        exp(entropy) of the blocks' shares in Σ‖Δh‖, over the number of blocks: 1 when all contribute the
        same, 1/ℓ when one does it all.
    """

    middle_angle: float
    middle_update_angle: float
    evenness: float


def fingerprint(network: Network, x: np.ndarray, tableau: Tableau) -> tuple[dict[str, np.ndarray], Summary]:
    """Measure one network.

    Parameters
    ----------
    x
        (samples, width) inputs.
    tableau
        How its blocks are put together.

    Returns
    -------
    layers
        For each of `QUANTITIES` means over samples, as many as `depthlaw.tensors.geometry` has layers of it.
    summary
        The same in three numbers.
    """
    import torch

    from depthlaw.tensors import geometry
    from depthlaw.tensors.residual_mlp import Weights, states

    A, b, B = (torch.from_numpy(array) for array in (network.A, network.b, network.B))
    inputs = torch.from_numpy(x).to(A.dtype)
    with torch.no_grad():
        found = geometry.measure(list(states(inputs, Weights(A, b, B, None, tableau))))
    means = {name: getattr(found, name).double().mean(-1).numpy() for name in QUANTITIES}
    return means, summarise(means)


def summarise(means: Mapping[str, np.ndarray]) -> Summary:
    """Reduce means by layer to three numbers."""
    state, update, step = means["theta_state"][1:-1], means["theta_update"][1:-1], means["norm_update"]
    share = step / step.sum() if step.sum() > 0 else np.full_like(step, 1 / len(step))
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1.0)))
    return Summary(
        middle_angle=float(state.mean()) if len(state) else float("nan"),
        middle_update_angle=float(update.mean()) if len(update) else float("nan"),
        evenness=float(np.exp(entropy) / len(step)),
    )


def fingerprints(
    config: LabConfig, networks: Mapping[Task, Mapping[StudentKey, Network]], samples: int = 1024
) -> Fingerprints:
    """Measure every student on inputs that no training or test has seen."""
    import pyarrow as pa

    layers, students = [], []
    for task, members in networks.items():
        batches = Batches(config.seed, task.replica, Purpose.FINGERPRINT, (samples, config.width))
        x = batches(0)
        for key, network in members.items():
            who = {
                "replica": task.replica,
                "temperature": key.temperature,
                "rho": task.rho,
                "depth": key.depth,
            }
            means, summary = fingerprint(network, x, config.student.method)
            students.append({**who, **{k: v if np.isfinite(v) else None for k, v in vars(summary).items()}})
            for layer in range(key.depth + 1):
                found = {name: float(m[layer]) if layer < len(m) else None for name, m in means.items()}
                layers.append({**who, "layer": layer, **found})
    return Fingerprints(
        pa.Table.from_pylist(layers, _schema("layer", *QUANTITIES)),
        pa.Table.from_pylist(students, _schema("middle_angle", "middle_update_angle", "evenness")),
    )


@dataclass(frozen=True)
class AngleLaw:
    """How the mean middle angle of trained students falls with depth: middle_angle ~ depth^-alpha.

    Attributes
    ----------
    rho, temperature
        Of which students.
    alpha
        1 for even updates of a fixed path; ``None`` where too few depths have a middle.
    fit_low, fit_high
        Profile likelihood interval of the fit.
    depths
        How many went in.
    """

    rho: float
    temperature: float | None
    alpha: float | None
    fit_low: float | None
    fit_high: float | None
    depths: int


def angle_laws(prints: Fingerprints) -> tuple[AngleLaw, ...]:
    """Fit the geometric mean over replicas of the middle angle against depth, for each ρ and temperature."""
    angles: dict[tuple[float, float | None], dict[int, list[float]]] = {}
    for row in prints.students.to_pylist():
        group = angles.setdefault((row["rho"], row["temperature"]), {})
        if row["middle_angle"]:
            group.setdefault(row["depth"], []).append(row["middle_angle"])
    return tuple(_angle_law(*group, found) for group, found in angles.items())


def _angle_law(rho: float, temperature: float | None, angles: Mapping[int, list[float]]) -> AngleLaw:
    depths = sorted(angles)
    mean = [float(np.exp(np.mean(np.log(angles[depth])))) for depth in depths]
    if len(depths) < 3:
        return AngleLaw(rho, temperature, None, None, None, len(depths))
    try:
        alpha = fit({"depth": [float(d) for d in depths], "loss": mean}, form="depth", floor=False)[
            "alpha_depth"
        ]
    except FitError:
        return AngleLaw(rho, temperature, None, None, None, len(depths))
    low, high = alpha.interval or (None, None)
    return AngleLaw(rho, temperature, alpha.value, low, high, len(depths))


def _schema(*names: str) -> pa.Schema:
    import pyarrow as pa

    whole = {"replica": pa.int64(), "temperature": pa.float64(), "rho": pa.float64(), "depth": pa.int64()}
    kinds = {name: pa.int64() if name == "layer" else pa.float64() for name in names}
    return pa.schema(list((whole | kinds).items()))
