"""Plans on any stack with any loss: laboratory students, say, whose target is a vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from depthlaw.interventions.agreement import Agreement, rank_agreement, windows
from depthlaw.interventions.averaging import Skips, Swaps, middle_skips, middle_swaps
from depthlaw.interventions.criteria import CriteriaSums
from depthlaw.interventions.execution import execute
from depthlaw.interventions.generators import expand_plans
from depthlaw.interventions.plan import WHAT_RAN_UNITS, Plan, what_ran
from depthlaw.tensors.stack import Stack

if TYPE_CHECKING:
    import pyarrow as pa

    from depthlaw.data.store import Run

COST_UNITS = {
    **WHAT_RAN_UNITS,
    "samples": "1",
    "loss": "loss",
    "delta_loss": "loss",
    "delta_loss_stderr": "loss",
    "distance": "loss",
    "distance_stderr": "loss",
}
"""Columns of `PlanCosts.to_table` with their units."""


_MEASURED = ("intact", "cost", "stderr", "distance", "distance_stderr", "samples")
"""Fields of `PlanCosts` that are kept as they are."""


@dataclass(frozen=True)
class PlanCosts:
    """What plans cost a network.

    Attributes
    ----------
    plans
        What was run.
    depth
        Blocks of the network.
    intact
        Mean loss of the intact network, in the unit of the loss.
    cost
        (plans,) mean change of the loss.
    stderr
        (plans,) its standard error over samples, paired with the intact network; NaN for one.
    distance
        (plans,) mean distance of the output from the intact one.
    distance_stderr
        (plans,) its standard error over samples.
    samples
        How many.
    criteria
        Block influence, angular distance and CKA on the same samples.
    """

    plans: tuple[Plan, ...]
    depth: int
    intact: float
    cost: NDArray[np.float64]
    stderr: NDArray[np.float64]
    distance: NDArray[np.float64]
    distance_stderr: NDArray[np.float64]
    samples: int
    criteria: CriteriaSums

    @property
    def skips(self) -> Skips | None:
        """What single skips of the middle cost, beside the prediction of averaging.

        The depth term is the network's whole loss: nothing but depth keeps a student from its teacher. Under
        averaging it goes as 1/ℓ, so that one block less, retrained, costs loss/(ℓ − 1).
        """
        law = (self.intact * self.depth, 1.0)
        return middle_skips(self.plans, self.cost.tolist(), self.depth, law)

    @property
    def swaps(self) -> Swaps | None:
        """How the distance that swaps within the middle cause goes with the distance of the blocks."""
        return middle_swaps(self.plans, self.distance.tolist(), self.depth)

    def windows(self, size: int) -> Mapping[str, NDArray[np.float64]]:
        """Criteria for every window of ``size`` blocks, (windows,), measured costs first where known."""
        measured = {"delta_loss": self.cost, "distance": self.distance}
        return windows(self.plans, self.depth, size, measured, self.criteria)

    def agreement(self, size: int = 1) -> Agreement:
        """How far the criteria rank windows of ``size`` blocks alike."""
        return rank_agreement(self.windows(size))

    def to_table(self) -> pa.Table:
        """Return one row a plan, see `COST_UNITS`."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            **what_ran(self.plans),
            "samples": [self.samples] * len(self.plans),
            "loss": self.intact + self.cost,
            "delta_loss": self.cost,
            "delta_loss_stderr": self.stderr,
            "distance": self.distance,
            "distance_stderr": self.distance_stderr,
        }
        return pa.table(columns)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was measured by name, to be kept in a file: all but plans and depth."""
        criteria = {f"criteria/{name}": array for name, array in self.criteria.arrays().items()}
        return {name: np.asarray(getattr(self, name)) for name in _MEASURED} | criteria

    @classmethod
    def from_arrays(cls, plans: Sequence[Plan], depth: int, arrays: Mapping[str, NDArray[Any]]) -> PlanCosts:
        """Undo `arrays`."""
        whole = "criteria/"
        criteria = {name.removeprefix(whole): a for name, a in arrays.items() if name.startswith(whole)}
        return cls(
            plans=tuple(plans),
            depth=depth,
            intact=float(arrays["intact"]),
            cost=arrays["cost"],
            stderr=arrays["stderr"],
            distance=arrays["distance"],
            distance_stderr=arrays["distance_stderr"],
            samples=int(arrays["samples"]),
            criteria=CriteriaSums.from_arrays(criteria),
        )


def kept_costs(
    run: Run | None, name: str, plans: Sequence[Plan], depth: int, measure: Callable[[], PlanCosts]
) -> PlanCosts:
    """Return what a run keeps of these plans; where it keeps nothing, measure them and keep it.

    Parameters
    ----------
    name
        Of the network among those of the run.
    """
    from safetensors.numpy import load, save

    file = f"parts/{name}.safetensors"
    if run is not None and run.done(file):
        return PlanCosts.from_arrays(plans, depth, load((run.folder / file).read_bytes()))
    costs = measure()
    if run is not None and not run.complete:
        run.write_bytes(file, save({key: np.array(a, order="C") for key, a in costs.arrays().items()}))
    return costs


@torch.no_grad()
def plan_costs(
    stack: Stack[Any],
    inputs: Any,
    plans: Sequence[str | Plan],
    loss: Callable[[Tensor], Tensor],
    *,
    distance: Callable[[Tensor, Tensor], Tensor] | None = None,
    samples: int = 5,
    seed: int = 0,
) -> PlanCosts:
    """Run plans on a network and take their losses on the same samples.

    Parameters
    ----------
    stack
        A laboratory student, or anything that speaks the protocol.
    inputs
        As its ``capture`` takes them.
    plans
        `Plan`, orders such as ``"0-4,6-"``, or generators such as ``"skip each"``.
    loss
        Outputs (rows, positions, outputs) → losses, one a sample, any shape.
    distance
        Outputs of the intact and of the changed network → distances, one a sample, any shape; by default the
        mean squared change of an output coordinate.
    samples, seed
        Of ``shuffle middle``.

    Raises
    ------
    UsageError
        For plans that are not understood.
    """
    apart = distance or (lambda whole, changed: (changed - whole).square().mean(-1))
    found: list[Plan] = []
    for plan in plans:
        found += (
            [plan]
            if isinstance(plan, Plan)
            else expand_plans([plan], stack.depth, samples=samples, seed=seed)
        )
    trace = stack.capture(inputs)
    whole = stack.finish(trace.states[-1]).double()
    base = loss(whole).double().flatten()
    changes, distances = [], []
    for plan in found:
        output = stack.finish(execute(stack, trace, plan)).double()
        changes.append(_mean(loss(output).double().flatten() - base))
        distances.append(_mean(apart(whole, output).double().flatten()))
    (cost, stderr), (far, far_stderr) = (np.array(pairs).reshape(-1, 2).T for pairs in (changes, distances))
    return PlanCosts(
        plans=tuple(found),
        depth=stack.depth,
        intact=float(base.mean()),
        cost=cost,
        stderr=stderr,
        distance=far,
        distance_stderr=far_stderr,
        samples=len(base),
        criteria=CriteriaSums.of([state.flatten(0, -2) for state in trace.states]),
    )


def _mean(values: Tensor) -> tuple[float, float]:
    """Mean of (samples,) and its standard error; NaN for one sample."""
    n = len(values)
    return float(values.mean()), float(values.std()) / n**0.5 if n > 1 else float("nan")
