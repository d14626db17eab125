"""A tied teacher as a flow: what its depth approximates, and networks that integrate it without training.

With B scaled by √128/ℓ* the blocks of a tied teacher are Euler steps of length 1/ℓ* along one vector field,
and its output converges at first order as ℓ* grows. With the paper's 1/√ℓ* the time of the flow grows as √ℓ*
and it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from depthlaw.lab.config import LabConfig, Teacher
from depthlaw.lab.networks import Network, draw_teacher
from depthlaw.lab.streams import Batches, Purpose
from depthlaw.numerics.runge_kutta import RESIDUAL, RK4, Tableau
from depthlaw.tensors.residual_mlp import Weights, output

Array = NDArray[np.float64]

REFERENCE_STEPS = 256
"""Classical Runge–Kutta steps that stand for the exact flow: its error there is below 1e-9."""


@dataclass(frozen=True)
class Convergence:
    """How outputs of networks approach a limit as their depth grows.

    Attributes
    ----------
    depth
        (depths,).
    error
        (depths,) root mean square distance of normalised final states from the limit.
    order
        Minus the slope of ln error on ln depth: p for a method of order p, 0 for no convergence.
    """

    depth: Array
    error: Array
    order: float


def integrator(config: LabConfig, replicate: int, depth: int, tableau: Tableau) -> Network:
    """Return the untrained network that integrates the flow of a replicate's tied teacher in ``depth`` steps.

    Every stage of every block is the teacher's own MLP, with B divided by the number of steps.
    """
    flow = replace(config, teacher=Teacher(depth=1, scale="flow"), dtype="float64")
    field = draw_teacher(flow, replicate, 1.0)
    shape = (depth, tableau.stages)
    A, b, B = (np.broadcast_to(array[0], (*shape, *array.shape[2:])) for array in (field.A, field.b, field.B))
    return Network(A, b, B / depth)


def integration_error(
    config: LabConfig, replicate: int, depths: Sequence[int], tableau: Tableau, samples: int = 512
) -> Convergence:
    """Measure how integrators of the teacher's flow approach the flow itself.

    The squared error of an integrator of order p falls as depth^-2p: its signs are coherent, unlike those of
    trained students.
    """
    x = _inputs(config, replicate, samples)
    exact = _final(integrator(config, replicate, REFERENCE_STEPS, RK4), x, RK4)
    finals = [_final(integrator(config, replicate, depth, tableau), x, tableau) for depth in depths]
    return _convergence(depths, [_distance(final, exact) for final in finals])


def teacher_convergence(
    config: LabConfig, replicate: int, depths: Sequence[int], scale: str, samples: int = 512
) -> Convergence:
    """Measure how far apart tied teachers of ℓ* and 2ℓ* blocks are, for B scaled by ``sqrt`` or ``flow``.

    Differences between successive depths are used because with ``sqrt`` there is no limit to compare with.
    """
    x = _inputs(config, replicate, samples)

    def final(depth: int) -> torch.Tensor:
        teacher = Teacher(depth=depth, scale="flow" if scale == "flow" else "sqrt")
        network = draw_teacher(replace(config, teacher=teacher, dtype="float64"), replicate, 1.0)
        return _final(network, x, RESIDUAL)

    return _convergence(depths, [_distance(final(depth), final(2 * depth)) for depth in depths])


def _inputs(config: LabConfig, replicate: int, samples: int) -> torch.Tensor:
    draw = Batches(config.seed, replicate, Purpose.FINGERPRINT, (samples, config.width))
    return torch.from_numpy(draw(0)).double()


def _final(network: Network, x: torch.Tensor, tableau: Tableau) -> torch.Tensor:
    A, b, B = (torch.from_numpy(np.ascontiguousarray(array)) for array in (network.A, network.b, network.B))
    with torch.no_grad():
        return output(x, Weights(A, b, B, None, tableau))


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).square().mean().sqrt())


def _convergence(depths: Sequence[int], errors: Sequence[float]) -> Convergence:
    depth, error = np.array(depths, float), np.array(errors, float)
    slope = np.polyfit(np.log(depth), np.log(error), 1)[0]
    return Convergence(depth, error, -float(slope))
