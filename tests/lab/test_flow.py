"""Tied teachers as flows, integrators of known order, and the arithmetic of errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from depthlaw.lab.config import LabConfig
from depthlaw.lab.flow import integration_error, integrator, teacher_convergence
from depthlaw.lab.networks import draw_teacher
from depthlaw.lab.stack import StudentStack
from depthlaw.lab.theory import summed_error_loss
from depthlaw.numerics.runge_kutta import MIDPOINT, RESIDUAL, RK4
from depthlaw.tensors.residual_mlp import Weights, output
from depthlaw.tensors.stack import run_blocks, run_from

CONFIG = LabConfig()


# ReLU² has a jump in its second derivative: where a trajectory crosses one, no method is better than order 3.
@pytest.mark.parametrize(("tableau", "order"), [(RESIDUAL, 1), (MIDPOINT, 2), (RK4, 3)], ids=["1", "2", "4"])
def test_untrained_integrators_have_their_order(tableau, order: int) -> None:
    found = integration_error(CONFIG, 0, (12, 24, 48), tableau, samples=64)
    assert found.order == pytest.approx(order, rel=0.12)


def test_a_tied_teacher_converges_when_its_flow_time_is_held_and_not_otherwise() -> None:
    depths = (32, 64, 128)
    assert teacher_convergence(CONFIG, 0, depths, "flow", samples=64).order == pytest.approx(1, abs=0.15)
    assert abs(teacher_convergence(CONFIG, 0, depths, "sqrt", samples=64).order) < 0.3


def test_both_scales_agree_at_the_papers_depth() -> None:
    ours = integrator(CONFIG, 0, 128, RESIDUAL)
    papers = draw_teacher(CONFIG, 0, 1.0)
    np.testing.assert_allclose(ours.B, papers.B, rtol=1e-6)
    np.testing.assert_allclose(ours.A, papers.A, rtol=1e-6)


@pytest.mark.parametrize(
    ("order", "signs", "exponent"),
    [(0, "random", 1), (1, "random", 3), (2, "random", 5), (1, "coherent", 2), (2, "coherent", 4)],
)
def test_errors_add_up_as_the_theory_says(order: int, signs, exponent: int) -> None:
    depths = (6, 12, 24, 48)
    loss = summed_error_loss(depths, order=order, signs=signs)
    assert -np.polyfit(np.log(depths), np.log(loss), 1)[0] == pytest.approx(exponent, abs=0.03)


def test_networks_speak_the_stack_protocol() -> None:
    network = draw_teacher(LabConfig(loss="kl", head="learned", dtype="float64"), 0, 0.0)
    stack = StudentStack(network)
    x = torch.randn(3, 5, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    trace = stack.capture(x)
    assert len(trace.states) == stack.depth + 1
    weights = Weights(*(torch.from_numpy(array) for array in network.as_dict().values()))
    assert torch.equal(stack.finish(trace.states[-1]), output(x, weights))
    assert torch.equal(run_from(stack, trace, 60), trace.states[-1])
    skipped = run_blocks(stack, trace.states[0], trace.calls, range(1, stack.depth))
    assert not torch.equal(skipped, trace.states[-1])
