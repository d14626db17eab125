"""Tables on which a fit once answered wrongly: each stands for a kind of fault."""

from __future__ import annotations

import re

import numpy as np
import pytest

from depthlaw.errors import UsageError
from depthlaw.laws.bootstrap import rebind
from depthlaw.laws.fit import fit
from depthlaw.laws.form import to_coordinate
from depthlaw.laws.result import Status
from depthlaw.laws.words import verdict
from depthlaw.numerics.linear import solve_stack
from depthlaw.reproduce.made import made_runs


def shapes(
    pairs: list[tuple[int, int]], tokens: np.ndarray, seed: int, noise: float
) -> dict[str, np.ndarray]:
    rows = np.array([(m, d, t) for m, d in pairs for t in tokens], float)
    loss = 300 * rows[:, 0] ** -0.9 + 5 / rows[:, 1] + 350 * rows[:, 2] ** -0.28 + 1.7
    noisy = loss * np.exp(noise * np.random.default_rng(seed).standard_normal(len(loss)))
    return {"width": rows[:, 0], "depth": rows[:, 1], "tokens": rows[:, 2], "loss": noisy}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_four_shapes_cannot_tell_five_parameters_wherever_the_floor_lands(seed: int) -> None:
    """The direction that the data do not see stays unseen when the optimum lies at a floor of zero."""
    table = shapes([(256, 4), (512, 8), (1024, 12), (2048, 32)], np.geomspace(1e9, 1e11, 10), seed, 0.003)
    law = fit(table)
    for name in ("alpha_width", "alpha_depth", "floor"):
        assert law[name].status is Status.NOT_IDENTIFIED, name
    assert law["alpha_tokens"].status is Status.OK


@pytest.mark.parametrize("seed", range(6))
def test_no_value_outside_an_interval_fits_as_well(seed: int) -> None:
    """Depths 4, 64, 65: a second valley, in which the depth term is nearly a constant, counts too."""
    pairs = [(m, d) for m in (256, 1024, 4096) for d in (4, 64, 65)]
    law = fit(shapes(pairs, np.array([3e9, 2e10, 1e11]), seed, 0.01))
    bound, optimum = rebind(law)
    cost = float(bound.problem.cost(optimum[None])[0])
    unit = cost / (law.n_runs - 7)
    for name in law.form.param_names:
        if law[name].status is not Status.OK:
            continue
        low, high = law[name].interval
        row, shift = bound.functional(name)
        index = law.form.param_names.index(name)
        for value in (low * 0.7, low * 0.95, high * 1.05, high * 1.5):
            if value <= 0 or (name == "floor" and value >= law.data["loss"].min()):
                continue
            pinned = bound.problem.constrained(row, to_coordinate(name, value) - shift, index)
            starts = optimum + np.random.default_rng(1).normal(0, 0.5, (60, 7))
            refits = pinned.solve(np.clip(starts, pinned.lower, pinned.upper))
            zeta = np.sqrt(max(np.nanmin(refits.cost) - cost, 0.0) / unit)
            assert zeta > 2.0, (name, value, (low, high))


def test_equal_losses_say_nothing_about_exponents() -> None:
    law = fit({**made_runs(), "loss": np.full(60, 2.5)})
    assert law["alpha_depth"].status is Status.NOT_IDENTIFIED
    assert "no effect" in verdict(law)
    assert not law.identified


def test_an_exact_law_without_a_depth_term_has_no_depth_exponent() -> None:
    runs = made_runs()
    law = fit({**runs, "loss": 300 * runs["d_model"] ** -0.9 + 350 * runs["tokens"] ** -0.28 + 1.7})
    assert law["alpha_depth"].value is None
    assert law["alpha_width"].value == pytest.approx(0.9, rel=1e-9)


def test_a_verdict_is_not_rounded_into_its_opposite() -> None:
    runs = made_runs()
    clean = (
        300 * runs["d_model"] ** -0.9 + 5 * runs["n_layers"] ** -0.9843 + 350 * runs["tokens"] ** -0.28 + 1.7
    )
    noise = np.exp(0.0013 * np.random.default_rng(3).standard_normal(60))
    for level in (0.6, 0.8, 0.9, 0.95, 0.99):
        law = fit({**runs, "loss": clean * noise}, level=level)
        text = verdict(law)
        low, high = (float(x) for x in text.partition("[")[2].partition("]")[0].split(","))
        assert ("compatible with inverse depth" in text) == (low <= 1.0 <= high)
        assert ("%" in text) == (level != 0.95)


def test_an_outlier_is_said_to_lie_where_its_reader_sees_it() -> None:
    runs = made_runs()
    diverged = np.array(runs["loss"])
    diverged[20] *= 3.0
    message = next(n.message for n in fit({**runs, "loss": diverged}).notices if n.code == "outliers")
    assert re.search(r"row 20 \(172\.\d % above\)", message)
    diverged[20] /= 9.0
    message = next(n.message for n in fit({**runs, "loss": diverged}).notices if n.code == "outliers")
    assert re.search(r"row 20 \(6\d\.\d % below\)", message)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fix": {"floor": 99.0}}, "floor cannot be fixed at 99"),
        ({"fix": {"floor": 3.0}}, "floor cannot be fixed at 3: the smallest loss is 2.16577"),
        ({"floor": False, "fix": {"floor": 1.0}}, "switched off and fixed"),
        ({"form": "width + (depth - 2) + tokens", "depth_offset": 3.0}, "already has depth - 2"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_settings_that_contradict_are_usage_errors(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        fit(made_runs(), **settings)


def test_an_exponent_of_zero_and_other_singular_systems_do_not_stop_a_fit() -> None:
    law = fit(made_runs(), fix={"alpha_depth": 0.0})
    assert law["alpha_depth"].value == 0.0
    singular = np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3))])
    solved = solve_stack(singular, np.ones((3, 3)))
    np.testing.assert_allclose(solved[0], 1.0, rtol=1e-8)
    assert np.isfinite(solved).all()
