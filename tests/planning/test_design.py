from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from depthlaw.errors import FitError, UsageError
from depthlaw.laws.fit import Fit, fit
from depthlaw.planning.choose import Candidates, choose, criterion
from depthlaw.planning.design import design, expected_widths
from depthlaw.planning.draws import Draws
from depthlaw.planning.information import information

Columns = dict[str, np.ndarray]
FEW = {"resamples": 16}


def test_information_now_is_the_inverse_of_the_covariance(made_fit: Fit) -> None:
    known = information(made_fit, Draws(made_fit.point[None], "", 48, 7))
    covariance = known.basis @ np.linalg.inv(known.now[0]) @ known.basis.T
    np.testing.assert_allclose(covariance, made_fit.covariance, rtol=1e-6)
    gradient = known.gradient(lambda p: p[:, 3])
    (width,) = expected_widths(known, gradient, {"width": np.array([]), "depth": np.array([])}, 0.95)
    stderr = made_fit["alpha_depth"].stderr
    assert stderr is not None
    assert width == pytest.approx(2 * 2.0195 * stderr, rel=1e-3)  # t quantile with 41 degrees of freedom


@pytest.mark.parametrize("goal", [True, False], ids=["c-optimal", "D-optimal"])
def test_the_choice_is_as_good_as_the_best_of_all(goal: bool) -> None:
    rng = np.random.default_rng(4)
    found, best = [], []
    for _ in range(5):
        rows, cost = rng.normal(size=(3, 10, 3)), rng.uniform(1, 4, 10)
        now, wanted = np.tile(np.eye(3) * 0.5, (3, 1, 1)), rng.normal(size=(3, 3)) if goal else None

        def value(index: tuple[int, ...], rows: Any = rows, now: Any = now, wanted: Any = wanted) -> float:
            some = rows[:, list(index)]
            return criterion(now + np.einsum("bki,bkj->bij", some, some), wanted)

        chosen = choose(now, Candidates(rows, cost, 1), wanted, 6.0, 4)
        assert cost[list(chosen)].sum() <= 6.0
        every = [i for n in range(1, 5) for i in combinations(range(10), n) if cost[list(i)].sum() <= 6.0]
        found.append(value(chosen))
        best.append(min(value(i) for i in every))
    assert np.mean(np.array(found) - np.array(best)) < 0.05
    assert min(np.array(found) - np.array(best)) < 1e-9


@pytest.mark.parametrize(
    "goal",
    [
        {"goal": "alpha_depth"},
        {"goal": "best-depth", "params": 1e9},
        {"goal": "best-depth", "flops": 1e20},
        {"goal": "all"},
    ],
    ids=str,
)
def test_a_design_keeps_its_budget_and_beats_a_plain_grid(made_fit: Fit, goal: dict[str, Any]) -> None:
    d = design(made_fit, budget=1e20, **goal, **FEW)
    assert 0 < d.flops <= 1e20 * (1 + 1e-9)
    assert d.flops == pytest.approx(sum(6 * 12 * r.width**2 * r.depth * r.tokens for r in d.runs))
    assert len(d.runs) <= 12
    assert len({(r.width, r.depth, r.tokens) for r in d.runs}) == len(d.runs)
    assert d.expected_after < d.expected_grid < d.expected_now
    assert all(r.without >= 1 for r in d.runs)
    grid = 6 * 12 * d.grid["width"] ** 2 * d.grid["depth"] * d.grid["tokens"]
    assert grid.sum() == pytest.approx(1e20)
    assert d.to_table().num_rows == len(d.runs)


def test_a_larger_budget_promises_more_and_repeats_are_allowed(made_fit: Fit) -> None:
    small, large = (design(made_fit, budget=b, most=6, **FEW) for b in (1e18, 1e21))
    assert large.expected_after < small.expected_after
    again = design(made_fit, budget=1e19, widths=(512,), depths=(4,), tokens_grid=(1e9,), repeats=3, **FEW)
    assert len(again.runs) == 3


def test_a_follow_up_keeps_the_promise(made_table: Callable[..., Columns]) -> None:
    base = made_table(noise=0.004, seed=11)
    band = np.abs(np.log(base["width"] / base["depth"] / 64)) < 0.8
    base = {name: column[band] for name, column in base.items()}
    law = fit(base, starts=64)
    d = design(law, budget=1e20, **FEW)
    new = {s: np.array([getattr(r, s) for r in d.runs]) for s in ("width", "depth", "tokens")}
    loss = 1.7 + 300 * new["width"] ** -0.9 + 5 * new["depth"] ** -1.2 + 500 * new["tokens"] ** -0.3
    new["loss"] = loss * np.exp(0.004 * np.random.default_rng(2).standard_normal(len(loss)))
    after = fit({name: np.append(base[name], new[name]) for name in base}, starts=64)["alpha_depth"].interval
    assert after is not None
    assert after[1] - after[0] == pytest.approx(d.expected_after, rel=0.4)


def test_a_table_with_one_dial_is_told_what_to_vary(made_table: Callable[..., Columns]) -> None:
    crossed = made_table()
    line = crossed["width"] == 64 * crossed["depth"]
    law = fit({name: column[line] for name, column in crossed.items()}, starts=64)
    d = design(law, budget=1e20, **FEW)
    assert {n.code for n in d.notices} == {"not-identified", "design-trusts-the-form"}
    aspect = np.array([r.width / r.depth for r in d.runs])
    assert aspect.max() > 4 * aspect.min()
    assert (d.value, d.now, d.after) == (None, None, None)
    assert all(1.5 < r.loss < 20 for r in d.runs)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"goal": "alpha_deepness"},
            r'goal "alpha_deepness" not found[^?]*\nDid you mean --goal alpha_depth\?',
        ),
        ({"goal": "best-depth"}, "the best depth is for a budget"),
        ({"params": 1e9}, "belong to --goal best-depth"),
        ({"budget": 1e10}, "no run of the grid costs 1e"),
        ({"resamples": 2}, "too few to be robust"),
        ({"depths": (0,)}, "depths must be positive"),
    ],
)
def test_designs_that_cannot_be_meant(made_fit: Fit, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        design(made_fit, **{"budget": 1e20, **FEW, **settings})


def test_a_grid_that_does_better_outside_of_the_data_is_explained(made_fit: Fit) -> None:
    short, enough = (design(made_fit, budget=b, goal="alpha_tokens", **FEW) for b in (1e19, 1e23))
    assert short.expected_grid < short.expected_after
    assert [n.code for n in short.notices][-1] == "grid-outside-data"
    assert "grid-outside-data" not in [n.code for n in enough.notices]


def test_terms_without_any_variation_are_refused(made_table: Callable[..., Columns], tokens_fit: Fit) -> None:
    with pytest.raises(FitError, match="every run has depth 8"):
        design(fit(made_table(depths=(8.0,)), starts=64), budget=1e20)
    with pytest.raises(UsageError, match="width, depth and tokens"):
        design(tokens_fit, budget=1e20, goal="alpha_tokens", **FEW)
