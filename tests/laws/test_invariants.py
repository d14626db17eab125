"""What must not change a fit: units, the order of rows and terms, the size of weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.data.runs import RunTable, read_runs
from depthlaw.laws.fit import Fit, fit
from depthlaw.numerics.terms import Array
from depthlaw.report.fit import fit_text

Made = Callable[..., dict[str, Array]]
EXPONENTS = ("alpha_width", "alpha_depth", "alpha_tokens")
FACTORS = st.floats(-9, 9).map(lambda power: 10.0**power)


def with_weights(table: dict[str, Array], weights: Array) -> RunTable:
    return read_runs({**table, "w": weights}, weights="w")


@pytest.fixture(scope="module")
def weights() -> Array:
    return np.random.default_rng(5).integers(1, 4, 48).astype(float)


@pytest.fixture(scope="module")
def weighted(made_table: Made, weights: Array) -> Fit:
    return fit(with_weights(made_table(), weights), starts=64)


@given(loss=st.floats(0.1, 10.0), tokens=FACTORS, width=FACTORS, depth=st.floats(0.01, 100.0))
@settings(max_examples=6, deadline=None)
def test_units(
    made_table: Made, made_fit: Fit, loss: float, tokens: float, width: float, depth: float
) -> None:
    table = made_table()
    factors = {"width": width, "depth": depth, "tokens": tokens, "loss": loss}
    law = fit({name: values * factors[name] for name, values in table.items()})
    for name in EXPONENTS:
        assert law[name].value == pytest.approx(made_fit[name].value, rel=1e-7)
        assert law[name].stderr == pytest.approx(made_fit[name].stderr, rel=1e-7)
        assert law[name].interval == pytest.approx(made_fit[name].interval, rel=1e-7)
    assert law.quality.mse == pytest.approx(made_fit.quality.mse, rel=1e-7)
    assert law["floor"].value == pytest.approx(loss * made_fit["floor"].value, rel=1e-7)
    assert law["floor"].stderr == pytest.approx(loss * made_fit["floor"].stderr, rel=1e-7)
    for scale in ("width", "depth", "tokens"):
        was, now = made_fit[f"c_{scale}"], law[f"c_{scale}"]
        factor = loss * factors[scale] ** made_fit[f"alpha_{scale}"].value
        assert now.value == pytest.approx(was.value * factor, rel=1e-6)


@given(st.permutations(range(48)))
@settings(max_examples=4, deadline=None)
def test_the_order_of_rows(made_table: Made, made_fit: Fit, order: list[int]) -> None:
    law = fit({name: values[order] for name, values in made_table().items()})
    for one, was in zip(law.params, made_fit.params, strict=True):
        assert one.value == pytest.approx(was.value, rel=1e-7)
        assert one.stderr == pytest.approx(was.stderr, rel=1e-7)
        assert one.interval == pytest.approx(was.interval, rel=1e-7)
    np.testing.assert_allclose(law.residuals(), made_fit.residuals()[order], atol=1e-10)


def test_the_order_of_terms(made_table: Made, made_fit: Fit) -> None:
    law = fit(made_table(), form="tokens + width + depth")
    for was in made_fit.params:
        assert law[was.name].value == pytest.approx(was.value, rel=1e-6)
        assert law[was.name].interval == pytest.approx(was.interval, rel=1e-4)


def test_a_weight_is_a_repetition(made_table: Made, weights: Array, weighted: Fit) -> None:
    table = made_table()
    repeated = fit({name: np.repeat(v, weights.astype(int)) for name, v in table.items()}, starts=64)
    assert repeated.quality.mse == pytest.approx(weighted.quality.mse, rel=1e-10)
    for one, other in zip(repeated.params, weighted.params, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-7)
        # repeated rows are taken for more runs; weights are not
        assert one.stderr == pytest.approx(other.stderr * np.sqrt((48 - 7) / (weights.sum() - 7)), rel=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 1e6, 1 / 3])
def test_the_size_of_weights_changes_no_printed_digit(
    made_table: Made, weights: Array, weighted: Fit, factor: float
) -> None:
    law = fit(with_weights(made_table(), factor * weights), starts=64)
    for one, was in zip(law.params, weighted.params, strict=True):
        assert one.value == pytest.approx(was.value, rel=1e-8)
        assert one.stderr == pytest.approx(was.stderr, rel=1e-8)
        assert one.interval == pytest.approx(was.interval, rel=1e-7)
    assert law.certificate.starts_at_best == weighted.certificate.starts_at_best
    gradient = f"{law.certificate.scaled_gradient:.0e}"
    assert fit_text(law) == fit_text(weighted).replace(
        f"{weighted.certificate.scaled_gradient:.0e}", gradient
    )


def test_equal_weights_are_no_weights(made_table: Made, made_fit: Fit) -> None:
    law = fit(with_weights(made_table(), np.full(48, 2.5)))
    for one, was in zip(law.params, made_fit.params, strict=True):
        assert one.value == pytest.approx(was.value, rel=1e-9)
        assert one.stderr == pytest.approx(was.stderr, rel=1e-9)
        assert one.interval == pytest.approx(was.interval, rel=1e-7)
    assert law.quality.aic == pytest.approx(made_fit.quality.aic, rel=1e-12)


def test_a_depth_offset_is_a_shift_of_the_column(made_table: Made) -> None:
    table = made_table(depths=(4, 8, 16, 32))
    one = fit(table, depth_offset=2.0, starts=64)
    other = fit({**table, "depth": table["depth"] - 2}, starts=64)
    for name in (*EXPONENTS, "floor", "c_depth"):
        assert one[name].value == pytest.approx(other[name].value, rel=1e-9)
        assert one[name].interval == pytest.approx(other[name].interval, rel=1e-7)
