"""The test of averaging on stacks whose regime is known: independent blocks, and steps of a smooth flow."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from depthlaw.interventions.agreement import mean_ranks, rank_agreement
from depthlaw.interventions.averaging import middle_skips, middle_swaps
from depthlaw.interventions.costs import plan_costs
from depthlaw.interventions.execution import run_plan
from depthlaw.interventions.generators import expand_plans
from depthlaw.report.ablate import swaps_lines
from depthlaw.tensors.stack import Call, Trace

DEPTH, WIDTH = 24, 48


@dataclass(frozen=True)
class Student:
    """A laboratory-like network: h + f_l(h)/ℓ, f_l(h) = B_l tanh(A_l h)."""

    A: Tensor
    B: Tensor

    @property
    def depth(self):
        return len(self.A)

    def capture(self, inputs, *, pick=None, edit_embedding=None):
        states, calls = [inputs.clone()], tuple(Call() for _ in range(self.depth))
        for block, call in enumerate(calls):
            states.append(self.block(block, states[-1], call))
        return Trace(tuple(states), calls)

    def block(self, index, state, call):
        return state + torch.tanh(state @ self.A[index].T) @ self.B[index].T / self.depth

    def finish(self, state):
        return state


def student(kind):
    rng = torch.Generator().manual_seed(5)

    def draw(*shape):
        return torch.randn(*shape, WIDTH, WIDTH, generator=rng, dtype=torch.float64) / WIDTH**0.5

    if kind == "independent":
        return Student(draw(DEPTH), draw(DEPTH) * 2)
    # Weights that turn evenly from one pair of matrices to another over depth: steps of a smooth flow.
    angle = torch.linspace(0, torch.pi / 2, DEPTH, dtype=torch.float64)[:, None, None]
    return Student(*(torch.cos(angle) * draw() + torch.sin(angle) * draw() for _ in range(2)))


def costs(stack, plans):
    """Mean squared change of the output, which is what a loss sees of small errors."""
    rng = torch.Generator().manual_seed(6)
    inputs = torch.randn(1, 64, WIDTH, generator=rng, dtype=torch.float64)
    intact = run_plan(stack, inputs, "0-")
    return [float((run_plan(stack, inputs, plan) - intact).square().mean()) for plan in plans]


def test_swaps_tell_a_flow_from_independent_blocks():
    plans = expand_plans(["swap neighbours", "swap distance 2", "swap distance 4", "swap distance 8"], DEPTH)
    flow = middle_swaps(plans, costs(student("flow"), plans), DEPTH)
    ensemble = middle_swaps(plans, costs(student("independent"), plans), DEPTH)
    assert flow.distances == ensemble.distances == (1, 2, 4, 8)
    # A smooth flow: 2d − 1 coherent commutators that grow with distance.
    assert 3.0 < flow.exponent < 4.5
    # Independent blocks: 2d − 1 independent commutators, whose slope over these distances is 1.31.
    assert ensemble.averaging == flow.averaging == pytest.approx(1.3077, abs=1e-4)
    assert ensemble.exponent == pytest.approx(ensemble.averaging, abs=0.05)
    np.testing.assert_allclose(np.array(ensemble.cost) / ensemble.cost[0], [1, 3, 7, 15], rtol=0.1)


def test_skips_of_independent_blocks_cost_evenly():
    plans = expand_plans(["skip each"], DEPTH)
    skips = middle_skips(plans, costs(student("independent"), plans), DEPTH, (5.0, 1.0))
    assert skips.blocks == DEPTH - 2
    assert skips.variation < 0.3
    assert skips.predicted == pytest.approx(5 / 23 - 5 / 24)
    assert skips.depth_term == pytest.approx(5 / 24)
    assert skips.lowest <= skips.median <= skips.highest


def test_only_the_middle_counts():
    plans = expand_plans(["skip each", "swap neighbours"], 5)
    cost = [100.0, 1, 2, 3, 100, 100, 4, 5, 100]
    assert middle_skips(plans, cost, 5, (1, 1)).mean == 2
    swaps = middle_swaps(plans, cost, 5)
    assert swaps.cost == (4.5,)
    assert np.isnan(swaps.exponent)
    assert middle_skips(plans[5:], cost[5:], 5, (1, 1)) is None
    assert middle_swaps(plans[:5], cost[:5], 5) is None


def test_the_exponent_of_made_costs():
    plans = expand_plans(["swap neighbours", "swap distance 2", "swap distance 4"], 12)
    swaps = middle_swaps(plans, [0.1 * plan.size**1.7 for plan in plans], 12)
    assert swaps.exponent == pytest.approx(1.7)
    assert swaps.exponent_stderr == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(("distances", "slope"), [((1, 2, 4), 1.4084), ((1, 2, 4, 8), 1.3077), ((4, 8), 1.1)])
def test_costs_as_averaging_has_them_have_the_exponent_that_it_predicts(distances, slope):
    """2d − 1 is no power of the distance: its slope goes with the distances swapped, and is never 1."""
    plans = expand_plans([f"swap distance {d}" for d in distances], DEPTH)
    cost = [0.1 * (2 * plan.size - 1) for plan in plans]
    swaps = middle_swaps(plans, cost, DEPTH)
    assert swaps.exponent == pytest.approx(swaps.averaging, rel=1e-12)
    assert swaps.averaging == pytest.approx(slope, abs=1e-3)
    # A swap that cost nothing is left out of both.
    some = middle_swaps(plans, [0.0, 0.0, *cost[2:]], DEPTH)
    assert some.exponent == pytest.approx(some.averaging, rel=1e-12)
    said = "".join(swaps_lines(swaps, "KL"))
    assert f"averaging predicts {slope:.2f} over these distances (2d − 1), a smooth flow 4" in said


def test_rank_agreement():
    a = np.array([1.0, 2, 3, 4, 5])
    found = rank_agreement({"a": a, "b": np.exp(a), "c": -a, "d": np.ones(5), "e": a[[0, 1, 3, 2, 4]]})
    assert found.correlation[0, 1] == pytest.approx(1)
    assert found.correlation[0, 2] == pytest.approx(-1)
    assert np.isnan(found.correlation[0, 3])
    assert found.correlation[0, 4] == pytest.approx(0.9)
    for few in (rank_agreement({"a": a[:4], "b": a[:4]}), rank_agreement({"a": a, "b": a}, known=False)):
        assert np.isnan(few.correlation).all()
    assert mean_ranks(np.array([5.0, 1, 5, 2])).tolist() == [3.5, 1, 3.5, 2]


def test_costs_of_plans_on_any_stack():
    stack = student("independent")
    inputs = torch.randn(1, 40, WIDTH, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    target = run_plan(stack, inputs, "0-") + 0.01
    found = plan_costs(stack, inputs, ["0-", "skip each"], lambda out: (out - target).square().mean(-1))
    assert found.samples == 40
    assert found.intact == pytest.approx(1e-4)
    assert found.cost[0] == found.distance[0] == 0
    one = run_plan(stack, inputs, "1-")
    losses = (one - target).square().mean(-1).flatten() - 1e-4
    assert found.cost[1] == pytest.approx(float(losses.mean()))
    assert found.stderr[1] == pytest.approx(float(losses.std()) / 40**0.5)
    assert found.distance[1] == pytest.approx(float((one - target + 0.01).square().mean()))
