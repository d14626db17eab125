import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.errors import UsageError
from depthlaw.numerics.histogram import Histogram

EDGES = np.linspace(-1.0, 1.0, 9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 50), st.integers(0, 50))
@settings(deadline=None, max_examples=100)
def test_quantiles_are_within_the_stated_resolution(seed, rows, cut):
    rng = np.random.default_rng(seed)
    table = rng.choice([rng.standard_normal((rows, 2)), np.round(rng.standard_normal((rows, 2)), 1)])
    found = Histogram.of(table[:cut], EDGES).merge(Histogram.of(table[cut:], EDGES))
    levels = [0.0, 0.05, 0.5, 0.9, 1.0]
    quantiles = found.quantiles(levels)
    exact = np.quantile(table, levels, axis=0, method="inverted_cdf").T
    assert (np.abs(quantiles.value - exact) <= quantiles.resolution + 1e-12).all()
    inside = np.abs(exact) < 1
    assert (quantiles.resolution[inside] <= 0.25 + 1e-12).all()
    assert (np.diff(quantiles.value, axis=1) >= 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(0, 30), st.integers(0, 30))
@settings(deadline=None, max_examples=50)
def test_merging_is_exact(seed, one, other):
    table = np.random.default_rng(seed).standard_normal((one + other, 3))
    merged = Histogram.of(table[one:], EDGES).merge(Histogram.of(table[:one], EDGES))
    for name, array in Histogram.of(table, EDGES).arrays().items():
        np.testing.assert_array_equal(merged.arrays()[name], array)


def test_bins_hold_their_lower_edge_and_the_ends_hold_the_rest():
    found = Histogram.of([-2.0, -1.0, -0.8, 0.0, 0.99, 1.0, 5.0, np.nan], EDGES)
    assert found.counts.tolist() == [[1, 2, 0, 0, 0, 1, 0, 0, 1, 2]]
    assert found.count.tolist() == [7]
    assert found.counts[0, 1:-1].sum() == np.histogram([-1, -0.8, 0, 0.99], EDGES)[0].sum()


def test_columns_are_apart_and_masked():
    found = Histogram.of([[0.1, 0.9], [0.1, -0.9]], EDGES, where=[[True, True], [False, True]])
    assert found.count.tolist() == [1, 2]
    assert found.quantiles(0.5).value[0, 0] == pytest.approx(0.1)


def test_nothing_has_no_quantiles():
    assert np.isnan(Histogram.empty(2, EDGES).quantiles([0.5]).value).all()


def test_what_cannot_be():
    with pytest.raises(UsageError, match="must increase"):
        Histogram.of([0.0], [0.0, 1.0, 1.0])
    with pytest.raises(UsageError, match="different edges"):
        Histogram.of([0.0], EDGES).merge(Histogram.of([0.0], EDGES + 1))
    with pytest.raises(UsageError, match="between 0 and 1"):
        Histogram.of([0.0], EDGES).quantiles([1.5])
