import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.tensors import geometry as geo

ANGLES = [1e-4, 3e-4, 1e-3, 1e-2, 0.05, 0.3, 1.0, math.pi / 2, 2.5, 3.1, math.pi]


def pair(theta: float, norm_a: float, norm_b: float, width: int, tokens: int, seed: int = 0):
    """Two float64 sets of vectors at a known angle."""
    draw = torch.Generator().manual_seed(seed)
    a = torch.randn(tokens, width, generator=draw, dtype=torch.float64)
    b = torch.randn(tokens, width, generator=draw, dtype=torch.float64)
    a = a / a.norm(dim=-1, keepdim=True)
    b = b - (a * b).sum(-1, keepdim=True) * a
    b = b / b.norm(dim=-1, keepdim=True)
    return norm_a * a, norm_b * (math.cos(theta) * a + math.sin(theta) * b)


def exact_angle(a, b):
    """Float64 reference, Kahan's form."""
    a, b = a.double(), b.double()
    na, nb = a.norm(dim=-1, keepdim=True), b.norm(dim=-1, keepdim=True)
    return 2 * torch.atan2((a * nb - b * na).norm(dim=-1), (a * nb + b * na).norm(dim=-1))


@pytest.mark.parametrize("theta", ANGLES)
@pytest.mark.parametrize(("norm_a", "norm_b"), [(1, 1), (1e-9, 1e-9), (1e9, 1e9), (1e-9, 1e9), (1e20, 1e20)])
def test_angle_in_float32_is_right_to_a_thousandth(theta, norm_a, norm_b):
    for width in (2, 3, 64, 576):
        a, b = pair(theta, norm_a, norm_b, width, tokens=200)
        got = geo.angle(a.float(), b.float()).double()
        assert ((got - theta).abs() / theta).max() <= 1e-3


@pytest.mark.parametrize("theta", ANGLES)
def test_float64_stays_float64(theta):
    a, b = pair(theta, 1e-9, 1e9, 64, tokens=20)
    got = geo.angle(a, b)
    assert got.dtype == torch.float64
    torch.testing.assert_close(got, torch.full_like(got, theta), rtol=1e-9, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("theta", ANGLES)
def test_half_precision_input_loses_nothing_more(dtype, theta):
    # Rounding the states moves the angle; computing it must not move it further.
    norms = (1.0, 1e9) if dtype == torch.bfloat16 else (1.0, 1e3)
    a, b = (x.to(dtype) for x in pair(theta, *norms, 256, tokens=100))
    got, true = geo.angle(a, b), exact_angle(a, b)
    assert got.dtype == torch.float32
    moved = true > 0
    assert ((got.double() - true).abs()[moved] / true[moved]).max() <= 1e-3
    assert bool((got[~moved] == 0).all())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_identical_vectors_are_exactly_zero_apart(dtype):
    for scale in (1e-9, 1.0, 1e4) if dtype != torch.float16 else (1e-3, 1.0, 100.0):
        v = (scale * torch.randn(500, 96, generator=torch.Generator().manual_seed(1))).to(dtype)
        assert bool((geo.angle(v, v.clone()) == 0).all())
        torch.testing.assert_close(geo.angle(v, -v).double(), torch.full((500,), math.pi).double())


def test_zero_vectors_have_a_rule_and_no_nan():
    zero, one = torch.zeros(1, 8), torch.ones(1, 8)
    assert geo.angle(zero, zero).item() == 0
    assert geo.angle(zero, one).item() == pytest.approx(math.pi / 2)
    assert geo.project(one, zero).item() == 0


def test_non_finite_input_gives_nan_only_where_it_is():
    v = torch.ones(4, 8)
    v[1, 0], v[2, 0] = math.inf, math.nan
    assert geo.angle(v, torch.ones(4, 8)).isnan().tolist() == [False, True, True, False]


@given(
    norm=st.floats(-37, 37).map(lambda e: 10.0**e),
    width=st.integers(1, 40),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=60, deadline=None)
def test_norms_over_the_whole_range_of_float32(norm, width, seed):
    draw = torch.Generator().manual_seed(seed)
    v = torch.randn(3, width, generator=draw, dtype=torch.float64)
    v = (norm * v / v.norm(dim=-1, keepdim=True)).float()
    direction, length = geo.unit(v)
    true = v.double().norm(dim=-1)
    torch.testing.assert_close(length.double(), true, rtol=2e-6, atol=1e-43)
    torch.testing.assert_close(geo.norm(v), length)
    torch.testing.assert_close(direction.norm(dim=-1), torch.ones(3), rtol=2e-6, atol=0)


def test_a_row_does_not_depend_on_its_neighbours():
    v = torch.randn(50, 33, generator=torch.Generator().manual_seed(3))
    w = v.clone()
    w[::2] *= 1e-30
    for both, alone in zip(geo.unit(w), geo.unit(v), strict=True):
        assert torch.equal(both[1::2], alone[1::2])


def random_states(layers: int, tokens: int, width: int, seed: int = 0):
    draw = torch.Generator().manual_seed(seed)
    steps = 0.2 * torch.randn(layers + 1, tokens, width, generator=draw, dtype=torch.float64)
    steps[0] *= 5
    return steps.cumsum(0)


def test_measure_against_definitions_in_float64():
    states = random_states(5, 40, 32)
    got = geo.measure([state.float() for state in states])
    steps = states.diff(dim=0)
    way = states[-1] - states[0]
    expected = {
        "theta_state": exact_angle(states[:-1], states[1:]),
        "theta_update": exact_angle(steps[:-1], steps[1:]),
        "theta_final": exact_angle(states[:-1], states[-1]),
        "norm_state": states.norm(dim=-1),
        "norm_update": steps.norm(dim=-1),
        "relative_update": steps.norm(dim=-1) / states[:-1].norm(dim=-1),
        "projection": ((states - states[0]) * way).sum(-1) / (way * way).sum(-1),
    }
    for name, value in expected.items():
        assert getattr(got, name).shape == value.shape
        torch.testing.assert_close(getattr(got, name).double(), value, rtol=1e-4, atol=1e-6, msg=name)
    assert bool((got.projection[0] == 0).all() & (got.projection[-1] == 1).all())


def test_measure_of_states_that_do_not_move_has_no_nan():
    still = [torch.ones(3, 8)] * 4
    got = geo.measure(still)
    for value in vars(got).values():
        assert bool(value.isfinite().all())
    assert bool((got.theta_state == 0).all() & (got.theta_update == 0).all())
    assert got.projection[:, 0].tolist() == [0, 0, 0, 1]


def test_one_block_has_no_neighbouring_updates():
    assert geo.measure(list(random_states(1, 4, 8))).theta_update.shape == (0, 4)
    with pytest.raises(ValueError, match="at least one block"):
        geo.measure([torch.ones(2, 2)])


def test_paper_mode_cannot_see_small_angles():
    a, b = (x.float() for x in pair(0.05, 1, 1, 1024, tokens=4000))
    seen = geo.paper_angle(a, b)
    assert not bool(((seen > 0) & (seen < 0.085)).any())
    # The mean of such angles is off by half; the accurate form sees them.
    assert seen.mean() < 0.04
    assert geo.angle(a, b).mean() == pytest.approx(0.05, rel=1e-3)


def test_paper_measure_agrees_where_bfloat16_suffices():
    states = random_states(5, 300, 256)
    paper, right = geo.paper_measure(list(states)), geo.measure(list(states))
    for name in ("theta_state", "theta_update", "theta_final", "norm_state", "norm_update", "projection"):
        got, true = getattr(paper, name), getattr(right, name).float()
        assert got.shape == true.shape
        torch.testing.assert_close(got.mean(-1), true.mean(-1), rtol=3e-2, atol=2e-2, msg=name)
