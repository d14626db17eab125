from __future__ import annotations

import numpy as np
import pytest

from depthlaw.numerics.losses import Huber, Squares

RESIDUALS = np.array([-3.0, -0.5, -0.1, 0.0, 0.1, 0.4999, 0.5001, 2.0])


def test_squares() -> None:
    rho, psi, curvature = Squares()(RESIDUALS)
    assert rho.tolist() == (RESIDUALS**2).tolist()
    assert psi.tolist() == RESIDUALS.tolist()
    assert curvature is None


def test_huber_is_its_definition() -> None:
    delta = 0.5
    rho, psi, curvature = Huber(delta)(RESIDUALS)
    size = np.abs(RESIDUALS)
    inside = size <= delta
    np.testing.assert_allclose(rho, np.where(inside, size**2, 2 * delta * size - delta**2), rtol=1e-14)
    np.testing.assert_allclose(psi, np.where(inside, RESIDUALS, delta * np.sign(RESIDUALS)), rtol=1e-15)
    assert curvature is not None
    assert curvature.tolist() == inside.astype(float).tolist()


@pytest.mark.parametrize("loss", [Squares(), Huber(0.5)])
def test_psi_is_half_the_slope(loss: Squares | Huber) -> None:
    away = RESIDUALS[np.abs(np.abs(RESIDUALS) - 0.5) > 1e-3]
    h = 1e-5
    slope = (loss(away + h)[0] - loss(away - h)[0]) / (2 * h)
    np.testing.assert_allclose(loss(away)[1], slope / 2, atol=1e-10)


def test_huber_with_a_wide_delta_is_squares() -> None:
    rho, psi, curvature = Huber(10.0)(RESIDUALS)
    np.testing.assert_allclose(rho, RESIDUALS**2, rtol=1e-15)
    assert psi.tolist() == RESIDUALS.tolist()
    assert curvature is not None
    assert curvature.all()


def test_huber_is_smooth_where_its_pieces_meet() -> None:
    below, above = Huber(0.5)(np.array([0.5 - 1e-9, 0.5 + 1e-9]))[0]
    assert above - below == pytest.approx(2 * 0.5 * 2e-9, rel=1e-6)
