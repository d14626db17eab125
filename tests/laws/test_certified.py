"""Numbers that independent programs have certified for published tables, to the digits they are given with.

Errors are sqrt(diag(s² (JᵀJ)⁻¹)) of the log residuals. A value given with n digits must agree to half a unit
of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from depthlaw.data.runs import read_runs
from depthlaw.laws.fit import Fit, fit

pytestmark = pytest.mark.data

Fitted = Callable[..., Fit]
CHINCHILLA = "runs/chinchilla.csv"


def agrees(value: float | None, certified: str) -> bool:
    """Whether ``value`` rounds to the digits of ``certified``."""
    assert value is not None
    mantissa, _, exponent = certified.partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(certified)) <= half * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("c_width", "274.723", None),
        ("alpha_width", "0.94548", "0.085"),
        ("c_depth", "6.72117", None),
        ("alpha_depth", "1.32513", "0.287"),
        ("c_tokens", "529.253", None),
        ("alpha_tokens", "0.29909", "0.014"),
        ("floor", "1.75363", "0.024"),
    ],
)
def test_chinchilla_203(fitted: Fitted, name: str, value: str, error: str | None) -> None:
    law = fitted(CHINCHILLA, exclude_highest=40)
    assert law.n_runs == 203
    assert agrees(law[name].value, value)
    assert law[name].status == "ok"
    if error is not None:
        assert agrees(law[name].stderr, error)


def test_chinchilla_203_as_a_whole(fitted: Fitted) -> None:
    law = fitted(CHINCHILLA, exclude_highest=40)
    assert agrees(law.quality.mse, "3.02737e-5")
    assert law.certificate.objective == pytest.approx(law.quality.mse, rel=1e-12)
    assert agrees(law.quality.mean_abs_rel_error, "0.004")
    assert agrees(law.quality.aic, "-2098.3")
    assert law.certificate.converged
    assert law.certificate.scaled_gradient < 1e-9
    assert law.certificate.starts_at_best >= 64
    assert 85 < law.certificate.condition < 95  # "90 after centring"
    covariance = law.covariance
    correlation = covariance[1, 3] / (covariance[1, 1] * covariance[3, 3]) ** 0.5
    assert agrees(correlation, "-0.86")


@pytest.mark.parametrize(
    ("excluded", "exponent", "error"),
    [
        (0, "1.191", "0.595"),
        (5, "0.929", None),
        (10, "0.951", None),
        (20, "1.044", None),
        (40, "1.325", "0.287"),
        (60, "1.658", None),
        (80, "1.870", None),
    ],
)
def test_the_depth_exponent_moves_with_the_exclusion(
    fitted: Fitted, excluded: int, exponent: str, error: str | None
) -> None:
    law = fitted(CHINCHILLA, exclude_highest=excluded)
    assert agrees(law["alpha_depth"].value, exponent)
    if error is not None:
        assert agrees(law["alpha_depth"].stderr, error)


def test_chinchilla_with_depth_counted_from_two(fitted: Fitted) -> None:
    law = fitted(CHINCHILLA, {"depth_offset": 2.0}, exclude_highest=40)
    assert str(law.form) == "width + (depth - 2) + tokens + floor"
    assert agrees(law.quality.mse, "3.0605e-5")
    assert agrees(law["alpha_depth"].value, "1.0975")
    assert agrees(law["alpha_depth"].stderr, "0.258")


def test_the_plain_law_in_params_and_tokens_is_ahead(fitted: Fitted, data_dir: Path) -> None:
    plain = fitted(CHINCHILLA, {"form": "params + tokens"}, exclude_highest=40)
    assert agrees(plain.quality.aic, "-2108.6")
    table = read_runs(data_dir / CHINCHILLA, exclude_highest=40)
    columns = {"params": 12 * table["width"] ** 2 * table["depth"], "tokens": table["tokens"]}
    without_embeddings = fit({**columns, "loss": table["loss"]})
    assert agrees(without_embeddings.quality.aic, "-2098.7")


@pytest.mark.parametrize(
    ("where", "name", "value", "error"),
    [
        (None, "alpha_width", "0.315", "0.021"),
        (None, "alpha_depth", "0.166", "0.028"),
        (None, "alpha_tokens", "0.577", "0.065"),
        (None, "floor", "0.72", "0.19"),
        ("width >= 512", "alpha_depth", "0.386", "0.045"),
        ("width / depth >= 20 and width / depth <= 150", "alpha_depth", "0.569", "0.200"),
    ],
)
def test_gemstones_as_if_checkpoints_were_independent(
    data_dir: Path, where: str | None, name: str, value: str, error: str
) -> None:
    table = read_runs(data_dir / "runs/gemstones_hot.csv", where=where)
    law = fit({column: table[column] for column in ("width", "depth", "tokens", "loss")})
    assert agrees(law[name].value, value)
    assert agrees(law[name].stderr, error)
    if where is None:
        assert agrees(law.quality.mse, "8.13e-5")


@pytest.mark.parametrize(
    ("name", "depths"),
    [("gadre_rpj_c4val", "8, 24, 32"), ("olmo_ladder_c4", "12, 16")],
)
def test_tables_with_two_or_three_depths_do_not_give_a_depth_exponent(
    fitted: Fitted, name: str, depths: str
) -> None:
    law = fitted(f"runs/{name}.csv")
    for parameter in ("alpha_depth", "c_depth"):
        one = law[parameter]
        assert one.status == "not-identified"
        assert one.value is one.stderr is one.interval is None
        assert "depth" in one.reason
    assert depths in law["alpha_depth"].reason
    assert "train runs" in law["alpha_depth"].reason
    assert law["alpha_width"].status == law["alpha_tokens"].status == "ok"
    assert not law.identified
    (notice,) = [n for n in law.notices if n.code == "not-identified"]
    assert depths in notice.message
