"""Plans on networks of the laboratory, where its room is installed."""

import numpy as np
import pytest
import torch

from depthlaw.interventions.averaging import middle_swaps
from depthlaw.interventions.costs import plan_costs

stack = pytest.importorskip("depthlaw.lab.stack")
networks = pytest.importorskip("depthlaw.lab.networks")

DEPTH, WIDTH, HIDDEN = 24, 32, 128


def network(rho):
    """A teacher of the laboratory: independent blocks (rho 0) or all the same (rho 1)."""
    rng = np.random.default_rng(0)

    def draw(size, *shape):
        own, shared = (rng.uniform(-size, size, (n, 1, *shape)) for n in (DEPTH, 1))
        return np.sqrt(rho) * shared + np.sqrt(1 - rho) * own

    A, b = draw(WIDTH**-0.5, HIDDEN, WIDTH), draw(WIDTH**-0.5, HIDDEN)
    B = draw(HIDDEN**-0.5, WIDTH, HIDDEN) / DEPTH**0.5
    return networks.Network(*(np.ascontiguousarray(x, dtype=np.float64) for x in (A, b, B)))


def costs(rho, plans):
    inputs = torch.randn(1, 256, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    made = stack.StudentStack(network(rho))
    whole = made.finish(made.capture(inputs).states[-1])
    return plan_costs(made, inputs, plans, lambda out: (out - whole).square().mean(-1))


def test_independent_blocks_skip_evenly_and_swap_by_commutators():
    found = costs(0.0, ["0-", "skip each", "swap neighbours", "swap distance 2", "swap distance 4"])
    assert found.cost[0] == found.intact == 0
    skips = found.cost[2:DEPTH]
    assert skips.std() / skips.mean() < 0.5
    swaps = middle_swaps(found.plans, found.cost.tolist(), DEPTH)
    np.testing.assert_allclose(np.array(swaps.cost) / swaps.cost[0], [1, 3, 7], rtol=0.2)
    assert swaps.cost[-1] < skips.mean()


def test_equal_blocks_do_not_notice_their_order():
    found = costs(1.0, ["swap neighbours", "reverse middle", "skip each"])
    np.testing.assert_allclose(found.distance[:DEPTH], 0, atol=1e-24)
    assert (found.distance[DEPTH:] > 1e-6).all()
