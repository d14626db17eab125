"""Constraints by elimination, against linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.numerics.affine import AffineMap, MapBatch

SIZE = 6


def random_map(seed: int, constraints: int) -> tuple[AffineMap, np.ndarray, np.ndarray]:
    """A map with ``constraints`` random ones, and these: functionals (constraints, params) and values."""
    rng = np.random.default_rng(seed)
    functionals, values = rng.normal(size=(constraints, SIZE)), rng.normal(size=constraints)
    pivots = rng.permutation(SIZE)[:constraints]
    result = AffineMap.identity(SIZE)
    for functional, value, pivot in zip(functionals, values, pivots, strict=True):
        result = result.eliminate(functional, float(value), int(pivot))
    return result, functionals, values


@given(st.integers(0, 10_000), st.integers(0, 4))
@settings(max_examples=50, deadline=None)
def test_whatever_the_coordinates_the_constraints_hold(seed: int, constraints: int) -> None:
    one, functionals, values = random_map(seed, constraints)
    z = np.random.default_rng(seed + 1).normal(size=(3, one.n_free))
    params = one.expand(z)
    scale = 1 + np.abs(one.matrix).max() * np.abs(functionals).sum(initial=0.0)
    assert one.n_free == SIZE - constraints
    np.testing.assert_allclose(params @ functionals.T, np.tile(values, (3, 1)), atol=1e-12 * scale**2)
    np.testing.assert_allclose(params[:, one.pick], z, atol=1e-12 * scale)


@given(st.integers(0, 10_000), st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_pull_backs_are_the_chain_rule(seed: int, constraints: int) -> None:
    one = random_map(seed, constraints)[0]
    rng = np.random.default_rng(seed + 2)
    root = rng.normal(size=(2, SIZE, SIZE))
    form, gradient = root @ root.transpose(0, 2, 1), rng.normal(size=(2, SIZE))
    step = rng.normal(size=(2, one.n_free))
    moved = one.expand(step) - one.expand(np.zeros_like(step))
    maps = MapBatch.shared(one)
    np.testing.assert_allclose(
        np.sum(maps.pull_back(gradient) * step, -1), np.sum(gradient * moved, -1), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        np.einsum("bi,bij,bj->b", step, maps.pull_back_form(form), step),
        np.einsum("bi,bij,bj->b", moved, form, moved),
        rtol=1e-9,
    )


def test_fixing_a_parameter_leaves_the_others_as_they_are() -> None:
    one = AffineMap.identity(3).eliminate(np.array([0.0, 1.0, 0.0]), 4.0, 1)
    assert one.pick.tolist() == [0, 2]
    assert one.expand(np.array([7.0, 9.0])).tolist() == [7.0, 4.0, 9.0]


def test_tying_two_parameters_moves_both() -> None:
    one = AffineMap.identity(3).eliminate(np.array([1.0, 0.0, -1.0]), 0.0, 0)
    assert one.expand(np.array([5.0, 2.0])).tolist() == [2.0, 5.0, 2.0]


def test_a_constraint_on_what_is_already_fixed_is_refused() -> None:
    row = np.array([0.0, 1.0, 0.0])
    one = AffineMap.identity(3).eliminate(row, 4.0, 1)
    with pytest.raises(ValueError, match="parameter 1 cannot be eliminated"):
        one.eliminate(row, 5.0, 1)
    with pytest.raises(ValueError, match="parameter 0 cannot be eliminated"):
        one.eliminate(row, 5.0, 0)  # free, but without weight in the functional


def test_a_batch_of_maps_is_each_map_by_itself() -> None:
    maps = [random_map(seed, 2)[0] for seed in range(3)]
    batch = MapBatch.stack(maps)
    z = np.random.default_rng(0).normal(size=(3, 4))
    params = batch.expand(z)
    for k, one in enumerate(maps):
        np.testing.assert_allclose(params[k], one.expand(z[k]), rtol=1e-13)
    np.testing.assert_allclose(batch.restrict(params), z, atol=1e-12)
    some = batch.take(np.array([2, 0]))
    np.testing.assert_allclose(some.expand(z[[2, 0]]), params[[2, 0]], rtol=1e-13)


def test_a_shared_map_serves_any_number_of_problems() -> None:
    shared = MapBatch.shared(random_map(5, 1)[0])
    assert shared.take(np.array([0, 3, 3])) is shared
    assert shared.expand(np.zeros((4, 5))).shape == (4, SIZE)
    assert shared.restrict(np.zeros((4, SIZE))).shape == (4, 5)
