from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.tensors.criteria import CkaSums, angular_distance, block_influence, unbiased_hsic


def reference_hsic(x, y):
    """Song et al. 2012, equation 5, as it stands, in float64."""
    n = len(x)
    k, m = x @ x.T, y @ y.T
    np.fill_diagonal(k, 0)
    np.fill_diagonal(m, 0)
    one = np.ones(n)
    return (
        np.trace(k @ m)
        + (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
        - 2 / (n - 2) * (one @ k @ m @ one)
    ) / (n * (n - 3))


def biased_cka(x, y):
    x, y = x - x.mean(0), y - y.mean(0)
    return np.sum((x.T @ y) ** 2) / np.sqrt(np.sum((x.T @ x) ** 2) * np.sum((y.T @ y) ** 2))


def tensors(*arrays, dtype=torch.float64):
    return [torch.as_tensor(array, dtype=dtype) for array in arrays]


@given(st.integers(0, 2**32 - 1), st.integers(4, 20))
@settings(deadline=None, max_examples=60)
def test_hsic_equals_the_formula(seed, n):
    rng = np.random.default_rng(seed)
    layers = [rng.standard_normal((n, 5)), rng.standard_normal((n, 3)) + 4]
    layers.append(layers[0] @ rng.standard_normal((5, 5)))
    found = unbiased_hsic(tensors(*layers))
    want = np.array([[reference_hsic(x, y) for y in layers] for x in layers])
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9 * np.abs(want).max())


def test_hsic_is_unbiased_and_streams_to_zero_where_the_biased_one_says_alike():
    rng = np.random.default_rng(0)
    parts, biased = [], []
    for _ in range(80):
        x, y = rng.standard_normal((32, 8)), rng.standard_normal((32, 8))
        parts.append(CkaSums.of(tensors(x, y)))
        biased.append(biased_cka(x, y))
    result = reduce(CkaSums.merge, parts).cka()
    assert np.mean(biased) > 0.18
    assert abs(result.value[0, 1]) < 0.03
    assert (result.batches, result.tokens) == (80, 2560)


def test_minibatches_agree_with_all_tokens_at_once():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4096, 16)) * np.geomspace(1, 0.1, 16)
    y = x @ rng.standard_normal((16, 16)) + rng.standard_normal((4096, 16))
    whole = biased_cka(x, y)  # its bias is gone at this size
    parts = [CkaSums.of(tensors(x[i : i + 64], y[i : i + 64])) for i in range(0, 4096, 64)]
    assert reduce(CkaSums.merge, parts).cka().value[0, 1] == pytest.approx(whole, abs=0.02)
    assert CkaSums.of(tensors(x[:1024], y[:1024])).cka().value[0, 1] == pytest.approx(whole, abs=0.03)


def test_a_turned_shifted_and_scaled_layer_is_the_same():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((40, 6))
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    result = CkaSums.of(tensors(x, 1e3 * x @ turn + 50)).cka()
    np.testing.assert_allclose(result.value, 1.0, atol=1e-9)
    assert np.diag(result.value).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_states_with_a_large_common_part(dtype):
    x = np.random.default_rng(3).standard_normal((64, 32))
    kept = [tensor.double().numpy() for tensor in tensors(x + 60, 0.01 * x, dtype=dtype)]
    found = CkaSums.of(tensors(x + 60, 0.01 * x, dtype=dtype)).cka()
    want = CkaSums.of(tensors(*kept)).cka()
    np.testing.assert_allclose(found.value, want.value, atol=1e-4)


def test_huge_states_do_not_overflow():
    x = np.random.default_rng(4).standard_normal((16, 4))
    result = CkaSums.of(tensors(1e20 * x, x, dtype=torch.float32)).cka()
    assert result.value[0, 1] == pytest.approx(1.0, abs=1e-4)


def test_a_layer_that_does_not_vary_is_said_to_be_undefined():
    x = np.random.default_rng(5).standard_normal((16, 4))
    result = CkaSums.of(tensors(x, np.full((16, 4), 3.0))).cka()
    assert result.defined.tolist() == [[True, False], [False, False]]
    assert np.isnan(result.value).tolist() == [[False, True], [True, True]]
    assert not CkaSums.empty(2).cka().defined.any()


def test_what_cannot_be_answered_is_an_error():
    x = np.random.default_rng(6).standard_normal((16, 4))
    with pytest.raises(ValueError, match="at least 4 tokens in a batch, not 3"):
        CkaSums.of(tensors(x[:3], x[:3]))
    x[2, 1] = np.inf
    with pytest.raises(ValueError, match="not finite"):
        CkaSums.of(tensors(x))


def test_the_order_of_merging_does_not_matter():
    rng = np.random.default_rng(7)
    parts = [CkaSums.of(tensors(*rng.standard_normal((2, 8, 3)))) for _ in range(6)]
    one = reduce(CkaSums.merge, parts)
    other = reduce(CkaSums.merge, parts[::-1], CkaSums.empty(2))
    np.testing.assert_allclose(one.cka().value, other.cka().value, rtol=1e-12)
    assert CkaSums.from_arrays(one.arrays()).cka().batches == 6


def test_block_influence_keeps_small_angles():
    theta = torch.tensor([0.0, 1e-5, 0.3, np.pi / 2, np.pi], dtype=torch.float32)
    want = [0.0, 5e-11, 1 - np.cos(0.3), 1.0, 2.0]
    np.testing.assert_allclose(block_influence(theta).double(), want, rtol=1e-6)


def test_angular_distance_in_half_turns():
    angles = np.array([0.0, 1e-4, 0.5, np.pi / 2, np.pi])
    states = [7 * np.array([[np.cos(a), np.sin(a), 0.0]] * 2) for a in angles]
    found = angular_distance(tensors(*states)).numpy()
    want = np.abs(angles[:, None] - angles) / np.pi
    np.testing.assert_allclose(found, np.stack([want, want], -1), atol=1e-8)
    assert found.shape == (5, 5, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_angular_distance_against_float64(dtype):
    rng = np.random.default_rng(8)
    start = 30 * rng.standard_normal((12, 64))
    states = tensors(
        *(start + scale * rng.standard_normal((12, 64)) for scale in (0, 0.3, 3, 30)), dtype=dtype
    )
    exact = [state.double().numpy() for state in states]
    units = [state / np.linalg.norm(state, axis=-1, keepdims=True) for state in exact]
    found = angular_distance(states).numpy()
    for i, u in enumerate(units):
        for j, v in enumerate(units):
            apart, together = np.linalg.norm(u - v, axis=-1), np.linalg.norm(u + v, axis=-1)
            want = 2 * np.arctan2(apart, together) / np.pi
            np.testing.assert_allclose(found[i, j], want, rtol=1e-3, atol=1e-7)
