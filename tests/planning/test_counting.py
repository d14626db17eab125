from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthlaw.planning.architecture import Architecture
from depthlaw.planning.counting import NOMINAL, Count

COUNTS = [
    NOMINAL,
    NOMINAL.times(6.0, "FLOP"),
    Architecture("gpt2", vocab=50257, tied=True).smooth("total"),
    Architecture("llama", queries_per_key=8).smooth("non-embedding"),
    Architecture("gpt_neox").smooth("flops"),
]


@pytest.mark.parametrize("count", COUNTS, ids=range(len(COUNTS)))
@given(width=st.floats(64, 65536), depth=st.floats(1, 1000))
def test_the_width_of_a_count_gives_the_count_back(count: Count, width: float, depth: float) -> None:
    total = count(np.array(width), np.array(depth))
    np.testing.assert_allclose(count.width(total, np.array(depth)), width, rtol=1e-12)


@pytest.mark.parametrize("count", COUNTS, ids=range(len(COUNTS)))
def test_slopes_are_log_derivatives(count: Count) -> None:
    width, depth, step = np.array([768.0, 4096.0]), np.array([12.0, 60.0]), 1e-6
    by_width, by_depth = count.slopes(width, depth)
    change = np.log(count(width * np.exp(step), depth) / count(width * np.exp(-step), depth)) / (2 * step)
    np.testing.assert_allclose(by_width, change, rtol=1e-8)
    change = np.log(count(width, depth * np.exp(step)) / count(width, depth * np.exp(-step))) / (2 * step)
    np.testing.assert_allclose(by_depth, change, rtol=1e-8)


def test_nominal_is_twelve_m_squared_l() -> None:
    assert NOMINAL(np.array(8192.0), np.array(80.0)) == 12 * 8192**2 * 80 == 64424509440
    assert NOMINAL.pure
    assert not Architecture().smooth("total").pure
