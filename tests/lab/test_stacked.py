"""The stacked passes against float64 autograd through the network's definition."""

from __future__ import annotations

import pytest
import torch

from depthlaw.lab.losses import kl, mse
from depthlaw.lab.stacked import Stack, backward, forward, rms_norm, rms_norm_backward
from depthlaw.numerics.runge_kutta import MIDPOINT, RESIDUAL, RK4, Tableau, from_flat
from depthlaw.tensors.residual_mlp import Weights, output

HEUN = from_flat((1.0, 0.5, 0.5))
UNUSED = Tableau(((), (0.0,)), (0.0, 1.0))  # its first stage does nothing


def stack(depths: tuple[int, ...], tableau: Tableau, classes: int | None, dtype: torch.dtype) -> Stack:
    draw = torch.Generator().manual_seed(1)

    def uniform(*shape: int) -> torch.Tensor:
        return ((torch.rand(*shape, generator=draw, dtype=torch.float64) * 2 - 1) * 0.3).to(dtype)

    n, d, s = len(depths), depths[0], tableau.stages
    head = None if classes is None else uniform(n, classes, 6)
    return Stack(depths, uniform(n, d, s, 20, 6), uniform(n, d, s, 20), uniform(n, d, s, 6, 20), head)


def gradients(weights: Stack, tableau: Tableau, x: torch.Tensor, target: torch.Tensor, temperature: float):
    """Losses and gradients as the engine takes them."""
    out = weights.zeros_like()
    tape: list = []
    normed, scale = rms_norm(forward(rms_norm(x)[0], weights, tableau, tape))
    if weights.head is None:
        losses, by_normed = mse(normed, target)
    else:
        logits = torch.bmm(normed, weights.head.transpose(1, 2))
        t = torch.full((1, 1, 1), temperature, dtype=x.dtype)
        losses, by_logits = kl(logits, target, t, t)
        by_normed = torch.bmm(by_logits, weights.head)
        torch.bmm(by_logits.transpose(1, 2), normed, out=out.head)
    backward(rms_norm_backward(by_normed, normed, scale), weights, tableau, tape, out)
    return losses, out


def reference(x, own, tableau, target, temperature):
    """Loss and gradients of one network by autograd, from the formulas."""
    leaves = [tensor.double().clone().requires_grad_() for tensor in own]
    said = output(x.double(), Weights(*leaves[:3], leaves[3] if len(leaves) > 3 else None, tableau))
    if len(leaves) == 3:
        loss = (said - target.double()).square().mean()
    else:
        p = torch.softmax(target.double() / temperature, -1)
        loss = (p * (p.log() - torch.log_softmax(said / temperature, -1))).sum(-1).mean()
    loss.backward()
    return loss.detach(), [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("tableau", [RESIDUAL, MIDPOINT, RK4, HEUN, UNUSED], ids=str)
@pytest.mark.parametrize("classes", [None, 5])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_gradients_are_autograds(tableau, classes, dtype, tolerance) -> None:
    weights = stack((4, 3, 3, 1), tableau, classes, dtype)
    draw = torch.Generator().manual_seed(2)
    x = torch.randn(33, 6, generator=draw, dtype=torch.float64).to(dtype)
    target = torch.randn(33, classes or 6, generator=draw, dtype=torch.float64).to(dtype)
    losses, out = gradients(weights, tableau, x, target, 0.3)
    for at, own in enumerate(weights.tensors()):
        loss, expected = reference(x, own, tableau, target, 0.3)
        assert losses[at].item() == pytest.approx(loss.item(), rel=tolerance)
        for found, wanted in zip(out.tensors()[at], expected, strict=True):
            if wanted is None or not wanted.any():
                assert not found.any()
            else:
                off = (found.double() - wanted).norm() / wanted.norm()
                assert off.item() <= tolerance


def test_networks_do_not_see_each_other() -> None:
    weights = stack((4, 3, 1), RESIDUAL, None, torch.float64)
    x = torch.randn(8, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    whole = forward(rms_norm(x)[0], weights, RESIDUAL)
    weights.A[1].fill_(float("nan"))
    spoilt = forward(rms_norm(x)[0], weights, RESIDUAL)
    assert torch.equal(whole[[0, 2]], spoilt[[0, 2]])
    assert spoilt[1].isnan().all()
