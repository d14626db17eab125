"""Known answers first: the numbers of the paper's law, closed forms, and a brute search for the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.errors import UsageError
from depthlaw.laws.form import Form
from depthlaw.numerics.terms import Array
from depthlaw.planning.allocate import (
    Laws,
    best_on_ray,
    best_shape,
    best_under_compute,
    growth,
    model_exponent,
)
from depthlaw.planning.architecture import Architecture
from depthlaw.planning.counting import NOMINAL, Count
from depthlaw.planning.support import Dial

FORM = Form(("width", "depth", "tokens"))
PER_TOKEN = NOMINAL.times(6.0, "6 N")


def law(c_m: float, a_m: float, c_l: float, a_l: float, c_d: float, a_d: float, floor: float = 1.7) -> Array:
    return np.array([np.log(c_m), a_m, np.log(c_l), a_l, np.log(c_d), a_d, floor])


OPTIMUM = law(274.723, 0.94548, 6.72117, 1.32513, 529.253, 0.29909, 1.75363)
PUBLISHED = law(
    333.3808501910344,
    0.9769136309623718,
    1284.3676595484178 * 100**-1.201390266418457,
    1.201390266418457,
    8.48674282280199 * 1e6**0.29909613728523254,
    0.29909613728523254,
    1.7503269910812378,
)
BOTH = Laws(FORM, np.array([OPTIMUM, PUBLISHED]))
exponents = st.floats(0.2, 2.5)
coefficients = st.floats(1.0, 600.0)


def test_the_best_shapes_of_the_papers_law() -> None:
    best = best_shape(BOTH, NOMINAL, 70e9)
    assert np.round(best.width).tolist() == [8369, 7825]
    assert np.round(best.depth).tolist() == [83, 95]
    real = best_shape(BOTH, NOMINAL, 12 * 8192**2 * 80)
    assert round(real.width[0]) == 8117
    assert round(real.depth[0], 1) == 81.5


def test_growth_and_exponent_of_the_papers_law() -> None:
    prefactor, exponent = growth(BOTH)
    assert np.round(prefactor, 4).tolist() == [0.1324, 0.0650]
    assert np.round(exponent, 4).tolist() == [0.7135, 0.8132]
    assert np.round(model_exponent(BOTH), 3).tolist() == [0.348, 0.347]


def test_unit_exponents_give_width_proportional_to_depth_and_a_third_power() -> None:
    laws = Laws(FORM, law(300.0, 1.0, 5.0, 1.0, 500.0, 0.3, 0.0)[None])
    small, large = best_shape(laws, NOMINAL, 1e8), best_shape(laws, NOMINAL, 1e11)
    assert small.depth / small.width == pytest.approx(2 * 5 / 300, rel=1e-12)
    assert large.depth / large.width == pytest.approx(2 * 5 / 300, rel=1e-12)
    terms = [laws.loss(width=b.width, depth=b.depth)[0] for b in (small, large)]
    assert np.log(terms[0] / terms[1]) / np.log(1e3) == pytest.approx(1 / 3, rel=1e-12)


@given(coefficients, exponents, coefficients, exponents, st.floats(1e7, 1e13))
@settings(max_examples=60, deadline=None)
def test_the_closed_form_and_its_power(c_m: float, a_m: float, c_l: float, a_l: float, total: float) -> None:
    laws = Laws(FORM, law(c_m, a_m, c_l, a_l, 500.0, 0.3, 0.0)[None])
    best = best_shape(laws, NOMINAL, total)
    prefactor, exponent = growth(laws)
    assert best.depth[0] == pytest.approx(prefactor[0] * best.width[0] ** exponent[0], rel=1e-9)
    assert NOMINAL(best.width, best.depth)[0] == pytest.approx(total, rel=1e-9)
    more = best_shape(laws, NOMINAL, 10 * total)
    fall = np.log10(
        laws.loss(width=best.width, depth=best.depth) / laws.loss(width=more.width, depth=more.depth)
    )
    assert fall[0] == pytest.approx(a_m * a_l / (a_m + 2 * a_l), rel=1e-8)


@given(exponents, exponents, st.floats(0.1, 1.0), st.floats(1e18, 1e26))
@settings(max_examples=40, deadline=None)
def test_compute_is_shared_in_fixed_proportion(a_m: float, a_l: float, a_d: float, compute: float) -> None:
    """At the best, α_m T_m / 2 = α_ℓ T_ℓ = α_D T_D for cost 6·12 m²ℓ·D."""
    laws = Laws(FORM, law(300.0, a_m, 5.0, a_l, 500.0, a_d)[None])
    best = best_under_compute(laws, PER_TOKEN, compute)
    assert best.tokens is not None
    parts = [
        a * np.exp(laws.coefficient(s)[0] - a * np.log(x)) / n
        for s, a, x, n in (
            ("width", a_m, best.width, 2),
            ("depth", a_l, best.depth, 1),
            ("tokens", a_d, best.tokens, 1),
        )
    ]
    np.testing.assert_allclose(parts, np.broadcast_to(parts[0], (3, 1)), rtol=1e-7)
    np.testing.assert_allclose(PER_TOKEN(best.width, best.depth) * best.tokens, compute, rtol=1e-9)


@pytest.mark.parametrize(
    "count", [Architecture("gpt2", vocab=50257).smooth("total"), NOMINAL], ids=["gpt2", "12m2l"]
)
@pytest.mark.parametrize("offsets", [{}, {"depth": 2.0}, {"depth": 1.0, "width": 16.0}], ids=str)
def test_no_shape_of_equal_cost_is_better(count: Count, offsets: dict[str, float]) -> None:
    laws = Laws(Form(FORM.scales, offsets=offsets), OPTIMUM[None])
    best = best_shape(laws, count, 1e9)
    depth = best.depth * np.array([[0.5], [0.9], [0.999], [1.0], [1.001], [1.1], [2.0]])
    losses = [laws.loss(width=count.width(np.array([1e9]), d), depth=d)[0] for d in depth]
    assert int(np.argmin(losses)) == 3
    assert losses[3] < losses[2]
    free = best_under_compute(laws, count.times(6.0, ""), 1e20)
    assert free.tokens is not None
    start = laws.loss(width=free.width, depth=free.depth, tokens=free.tokens)[0]
    for by_width in (0.99, 1.0, 1.01):
        for by_depth in (0.99, 1.0, 1.01):
            width, depth = free.width * by_width, free.depth * by_depth
            tokens = 1e20 / (6 * count(width, depth))
            assert laws.loss(width=width, depth=depth, tokens=tokens)[0] >= start * (1 - 1e-12)


def test_a_depth_range_holds_and_width_adapts() -> None:
    best = best_shape(BOTH, NOMINAL, 70e9, depths=(8, 64))
    assert best.depth.tolist() == [64, 64]
    np.testing.assert_allclose(NOMINAL(best.width, best.depth), 70e9)
    shared = best_under_compute(BOTH, PER_TOKEN, 1e23, depths=(8, 20))
    assert shared.tokens is not None
    assert shared.depth.tolist() == [20, 20]
    losses = [
        BOTH.loss(width=shared.width * f, depth=20.0, tokens=1e23 / PER_TOKEN(shared.width * f, shared.depth))
        for f in (0.99, 1.0, 1.01)
    ]
    assert (np.argmin(losses, 0) == 1).all()


def test_along_a_ray_only_the_size_is_free() -> None:
    ray = Dial("width", "depth", 1.0, float(np.log(1 / 64)), "", "")
    by_size = best_on_ray(BOTH, NOMINAL, 1e9, ray, shared=False)
    np.testing.assert_allclose(by_size.width / by_size.depth, 64)
    np.testing.assert_allclose(NOMINAL(by_size.width, by_size.depth), 1e9)
    shared = best_on_ray(BOTH, PER_TOKEN, 1e21, ray, shared=True)
    np.testing.assert_allclose(shared.width / shared.depth, 64)
    losses = []
    for factor in (0.99, 1.0, 1.01):
        width = shared.width * factor
        losses.append(BOTH.loss(width=width, depth=width / 64, tokens=1e21 / PER_TOKEN(width, width / 64)))
    assert (np.argmin(losses, 0) == 1).all()


def test_a_term_that_never_matters_has_no_best_shape() -> None:
    flat = OPTIMUM.copy()
    flat[1] = 0.0
    best = best_shape(Laws(FORM, np.array([flat, OPTIMUM])), NOMINAL, 1e9)
    assert np.isnan(best.depth[0])
    assert np.isfinite(best.depth[1])


def test_laws_without_the_terms_are_refused() -> None:
    with pytest.raises(UsageError, match="no width term"):
        Laws(Form(("params", "tokens")), np.zeros((1, 5)))
    with pytest.raises(UsageError, match="no tokens term"):
        best_under_compute(Laws(Form(("width", "depth")), OPTIMUM[None, :5]), PER_TOKEN, 1e20)
