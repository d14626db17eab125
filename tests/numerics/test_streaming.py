from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.errors import InputError
from depthlaw.numerics.streaming import Covariance, Moments


@st.composite
def cut_tables(draw, columns=3):
    """A table with an offset, and the pieces it is cut into, in some order, some of them empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(2, 60))
    offset, scale = draw(st.sampled_from([0.0, 1.0, -1e6, 1e8])), draw(st.sampled_from([1e-3, 1.0, 1e3]))
    table = offset + scale * rng.standard_normal((rows, columns))
    cuts = np.sort(rng.integers(0, rows + 1, size=draw(st.integers(0, 5))))
    pieces = np.split(np.arange(rows), cuts)
    return table, [pieces[i] for i in rng.permutation(len(pieces))]


def fold(parts, draw_tree):
    """Merge neighbours in an order of the tree's choosing: merging is associative."""
    parts = list(parts)
    while len(parts) > 1:
        i = int(draw_tree.integers(len(parts) - 1))
        parts[i : i + 2] = [parts[i].merge(parts[i + 1])]
    return parts[0]


# Digits that an offset of 1e8 against a scale of 1e-3 leaves in float64.
def close(found, want, table):
    room = 1e-11 + 20 * np.finfo(float).eps * np.abs(table).max() / np.ptp(table)
    np.testing.assert_allclose(found, want, rtol=room, atol=room * np.abs(want).max())


@given(cut_tables(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=150)
def test_moments_of_any_pieces_are_those_of_the_whole(cut, seed):
    table, pieces = cut
    found = fold([Moments.of(table[piece]) for piece in pieces], np.random.default_rng(seed))
    assert (found.count == len(table)).all()
    np.testing.assert_allclose(found.mean, table.mean(axis=0), rtol=1e-12, atol=1e-12 * np.ptp(table))
    close(found.sd, table.std(axis=0, ddof=1), table)
    assert (found.low == table.min(axis=0)).all()
    assert (found.high == table.max(axis=0)).all()


@given(cut_tables(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=100)
def test_covariance_of_any_pieces_is_that_of_the_whole(cut, seed):
    table, pieces = cut
    found = fold([Covariance.of(table[piece]) for piece in pieces], np.random.default_rng(seed))
    np.testing.assert_allclose(found.mean, table.mean(axis=0), rtol=1e-12, atol=1e-12 * np.ptp(table))
    close(found.covariance, np.cov(table, rowvar=False), table)
    np.testing.assert_array_equal(found.covariance, found.covariance.T)


def test_a_large_offset_costs_few_digits_over_many_pieces():
    # The offset rounds every mean by 1e-7 of the spread; sums of raw squares would keep no digit at all.
    table = np.random.default_rng(1).standard_normal((20_000, 2)) + 2.0**30
    exact, pieces = table - 2.0**30, np.split(table, 400)
    found = reduce(Moments.merge, map(Moments.of, pieces))
    np.testing.assert_allclose(found.sd, exact.std(axis=0, ddof=1), rtol=1e-8)
    found = reduce(Covariance.merge, map(Covariance.of, pieces))
    np.testing.assert_allclose(found.covariance, np.cov(exact, rowvar=False), rtol=0, atol=1e-8)


def test_what_is_not_finite_is_counted_and_left_out():
    table = np.array([[1.0, np.nan], [2.0, 5.0], [np.inf, 7.0], [4.0, 9.0]])
    found = Moments.of(table, where=[True, True, True, False])
    assert found.count.tolist() == [2, 2]
    assert found.nonfinite.tolist() == [1, 1]
    assert found.mean.tolist() == [1.5, 6.0]
    vectors = Covariance.of(table)
    assert (float(vectors.count), float(vectors.nonfinite)) == (2, 2)
    assert vectors.mean.tolist() == [3.0, 7.0]
    assert Covariance.of(table, where=[False, True, False, True]).mean.tolist() == [3.0, 7.0]


def test_where_by_value():
    table = np.arange(6.0).reshape(3, 2)
    found = Moments.of(table, where=[[True, False], [True, True], [False, True]])
    assert found.mean.tolist() == [1.0, 4.0]
    assert found.nonfinite.tolist() == [0, 0]


@pytest.mark.parametrize("empty", [Moments.empty(2), Covariance.empty(2)])
def test_nothing_has_no_mean_and_is_neutral(empty):
    assert np.isnan(empty.mean).all()
    some = type(empty).of([[1.0, 2.0], [3.0, 5.0]])
    for both in (some.merge(empty), empty.merge(some)):
        for name, array in some.arrays().items():
            np.testing.assert_array_equal(both.arrays()[name], array)


def test_one_value_has_no_spread():
    assert Moments.of([3.0]).mean.tolist() == [3.0]
    assert np.isnan(Moments.of([3.0]).sd).all()
    assert np.isnan(Covariance.of([[3.0, 4.0]]).covariance).all()


def test_kept_as_arrays_and_back():
    moments = Moments.of(np.random.default_rng(0).standard_normal((5, 2)))
    again = Moments.from_arrays(moments.arrays())
    assert all(np.array_equal(again.arrays()[name], array) for name, array in moments.arrays().items())
    with pytest.raises(InputError, match="Covariance is kept as"):
        Covariance.from_arrays(moments.arrays())
