from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from depthlaw.errors import FitError, UsageError
from depthlaw.laws.fit import Fit, fit
from depthlaw.planning.allocate import Laws, best_shape
from depthlaw.planning.counting import NOMINAL
from depthlaw.planning.plan import best_under, plan
from depthlaw.planning.plan_config import PlanConfig
from depthlaw.planning.planned import Plan
from depthlaw.planning.predict import predict_at

Columns = dict[str, np.ndarray]
FEW = {"resamples": 60}
TRUTH = np.array([np.log(300.0), 0.9, np.log(5.0), 1.2, np.log(500.0), 0.3, 1.7])


@pytest.fixture(scope="module")
def by_params(made_fit: Fit) -> Plan:
    return plan(made_fit, params=1e9, shape=("1920x22", "1024x80"), resamples=100)


@pytest.fixture(scope="module")
def by_compute(made_fit: Fit) -> Plan:
    return plan(made_fit, flops=1e20, count="total", arch="gpt2", vocab=50257, tied=True, **FEW)


def test_the_truth_is_inside_and_the_parts_agree(made_fit: Fit, by_params: Plan) -> None:
    p = by_params
    true = best_shape(Laws(made_fit.form, TRUTH[None]), NOMINAL, 1e9)
    assert p.depth.low < true.depth[0] < p.depth.high
    assert p.width.low < true.width[0] < p.width.high
    assert p.growth is not None
    assert p.growth.exponent.low < 0.9 / 1.2 < p.growth.exponent.high
    assert p.growth.model_exponent.low < 0.9 * 1.2 / (0.9 + 2.4) < p.growth.model_exponent.high
    assert p.closed_form
    assert p.params == pytest.approx(1e9)
    assert sum(p.terms.values()) == pytest.approx(p.loss.value)
    there = predict_at(made_fit, width=p.width.value, depth=p.depth.value, tokens=2e10)
    assert there.loss[0] == pytest.approx(p.loss.value, rel=1e-9)
    assert p.budget[0].startswith("1e+09 parameters (12 m²ℓ")
    assert "no embeddings" in p.budget[0]
    assert "20 for every parameter" in p.budget[1]


def test_flatness_is_where_the_loss_says(made_fit: Fit, by_params: Plan) -> None:
    for flat in by_params.flat:
        for depth, width in zip(flat.depth, flat.width, strict=True):
            loss = predict_at(made_fit, width=width, depth=depth, tokens=2e10).loss[0]
            assert loss / by_params.loss.value - 1 == pytest.approx(flat.share, rel=1e-4)
            assert NOMINAL(np.array(width), np.array(depth)) == pytest.approx(1e9)
    depths = [f.depth for f in by_params.flat]
    assert depths[2][0] < depths[1][0] < depths[0][0] < by_params.depth.value < depths[0][1] < depths[1][1]
    assert by_params.regret[0] <= by_params.regret[1] < 0.01


def test_buildable_shapes_obey_their_rules(made_fit: Fit) -> None:
    p = plan(
        made_fit, params=1e9, count="total", head_dim=96, queries_per_key=4, width_multiple=256,
        depth_range=(6, 40), show=8, **FEW,
    )  # fmt: skip
    assert 1 < len(p.buildable) <= 8
    losses = [b.loss for b in p.buildable]
    assert losses == sorted(losses)
    for b in p.buildable:
        assert b.width % 256 == b.width % 384 == 0
        assert 6 <= b.depth <= 40
        assert b.count.total <= 1e9
        assert b.used == pytest.approx(b.count.total / 1e9)
        deeper = p.config.architecture.count(b.width, b.depth + 1)
        assert b.depth == 40 or deeper.total > 1e9
        assert (b.config["hidden_size"], b.config["num_hidden_layers"]) == (b.width, b.depth)
        assert b.config["num_attention_heads"] == 4 * b.config["num_key_value_heads"]
    assert p.budget[0].startswith("1e+09 parameters (llama: all parameters, embeddings of 32000 tokens")


def test_compute_is_spent_and_shared(made_fit: Fit, by_compute: Plan) -> None:
    p = by_compute
    assert p.tokens is not None
    assert 6 * p.params * p.tokens.value == pytest.approx(1e20)
    assert p.flops == pytest.approx(1e20)
    assert not p.closed_form
    assert p.tokens.low < p.tokens.value < p.tokens.high
    for b in p.buildable:
        assert 6 * b.count.total * b.tokens == pytest.approx(1e20)
        assert b.above_best > -1e-3
    step = plan(
        made_fit, flops=1e20, tokens=p.tokens.value, count="total", arch="gpt2", vocab=50257, tied=True, **FEW
    )
    assert step.depth.value == pytest.approx(p.depth.value, rel=1e-6)
    exact = plan(made_fit, flops=1e20, flop_count="exact", **FEW)
    assert "attention" in exact.budget[0]
    both = plan(made_fit, params=1e9, flops=1.2e20, **FEW)
    assert both.tokens is not None
    assert both.tokens.value == pytest.approx(2e10)


def test_what_ifs_and_margins(made_fit: Fit, by_params: Plan) -> None:
    near, far = by_params.whatif
    assert near.excess.value < 0.0005 < far.excess.value
    assert far.excess.low <= far.excess.value <= far.excess.high
    assert not far.within
    assert 0 <= near.saving < far.saving < 1
    best = plan(made_fit, params=far.params, tokens=2e10, **FEW)
    assert best.loss.value == pytest.approx(far.best_loss, rel=1e-9)
    saved = plan(made_fit, params=far.params * (1 - far.saving), tokens=2e10, **FEW)
    assert saved.loss.value == pytest.approx(far.loss, rel=1e-9)
    layer, width, tokens = by_params.margins
    at = {"width": by_params.width.value, "depth": by_params.depth.value, "tokens": 2e10}
    more = predict_at(made_fit, **{**at, "depth": at["depth"] + 1}).loss[0]
    assert layer.gain.value == pytest.approx(by_params.loss.value - more, rel=1e-6)
    assert width.params == pytest.approx(0.21)
    assert tokens.flops == pytest.approx(0.1)
    for margin in by_params.margins:
        assert 0 < margin.gain.low < margin.gain.value < margin.gain.high


def test_profile_and_bootstrap_agree(made_fit: Fit, by_params: Plan) -> None:
    other = plan(made_fit, params=1e9, intervals="bootstrap", resamples=300)
    assert "bootstrap" in other.how
    ratio = np.log(other.depth.high / other.depth.low) / np.log(by_params.depth.high / by_params.depth.low)
    assert 0.6 < ratio < 1.6


def test_far_away_and_undecided_are_said(made_table: Callable[..., Columns]) -> None:
    noisy = fit(made_table(noise=0.03, seed=5), starts=64)
    codes = {n.code for n in plan(noisy, params=1e12, **FEW).notices}
    assert codes == {"far-outside-data", "interval-does-not-decide"}


def test_another_law_beside_the_plan(made_fit: Fit) -> None:
    values = dict(zip(made_fit.form.param_names, TRUTH, strict=True))
    values |= {n: float(np.exp(v)) for n, v in values.items() if n.startswith("c_")}
    other = best_under(made_fit, PlanConfig(params=1e9), values)
    true = best_shape(Laws(made_fit.form, TRUTH[None]), NOMINAL, 1e9)
    assert other["depth"] == pytest.approx(true.depth[0])
    assert other["tokens"] == 2e10


def test_one_dial_plans_along_its_line_and_not_across(made_table: Callable[..., Columns]) -> None:
    crossed = made_table()
    line = crossed["width"] == 64 * crossed["depth"]
    law = fit({name: column[line] for name, column in crossed.items()}, starts=64)
    with pytest.raises(FitError, match=r"move together in every run.*\n.*depth = .* planning works: --ray"):
        plan(law, params=1e9)
    p = plan(law, params=1e9, ray=True, **FEW)
    assert p.width.value / p.depth.value == pytest.approx(64, rel=1e-6)
    assert p.params == pytest.approx(1e9)
    assert p.growth is None
    shared = plan(law, flops=1e20, ray=True, **FEW)
    assert shared.width.value / shared.depth.value == pytest.approx(64, rel=1e-6)
    true = 1.7 + 300 * p.width.value**-0.9 + 5 * p.depth.value**-1.2 + 500 * 2e10**-0.3
    assert p.loss.low < true < p.loss.high


def test_fits_that_cannot_say_are_refused(
    made_fit: Fit, made_table: Callable[..., Columns], tokens_fit: Fit
) -> None:
    with pytest.raises(FitError, match="every run has depth 8"):
        plan(fit(made_table(depths=(8.0,)), starts=64), params=1e9)
    with pytest.raises(FitError, match="two values of depth"):
        plan(fit(made_table(depths=(8.0, 16.0)), starts=64), params=1e9)
    with pytest.raises(UsageError, match="no width term"):
        plan(tokens_fit, params=1e9)
    with pytest.raises(FitError, match="they do not here"):
        plan(made_fit, params=1e9, ray=True)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "needs a budget"),
        ({"tokens": 1e9}, "tokens alone bound no model"),
        ({"params": 1e9, "flops": 1e20, "tokens": 1e10}, "one too many"),
        ({"params": -1.0}, "not a budget"),
        ({"params": 1e27}, "not a budget.\nGive a number from 1 to 1e.18"),
        ({"params": 1e9, "shape": ("4096",)}, 'cannot read the shape "4096"'),
        ({"params": 1e9, "depth_range": (9, 3)}, "smallest and a largest"),
        ({"params": 1e9, "resamples": 5}, "too few"),
        ({"params": 1e9, "level": 95.0}, "not a confidence level"),
        ({"params": 1e6, "width_multiple": 4096}, "no shape with a width that is a multiple of 4096"),
    ],
)
def test_plans_that_cannot_be_meant(made_fit: Fit, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan(made_fit, **{"resamples": 60, **settings})


@pytest.mark.data
def test_the_papers_runs_plan_70b(fitted: Callable[..., Fit]) -> None:
    p = plan(fitted("runs/chinchilla.csv", exclude_highest=40), params=70e9, **FEW)
    assert round(p.width.value) == 8369
    assert round(p.depth.value) == 83
    assert p.depth.low < 80 < p.depth.high


@pytest.mark.data
def test_a_table_with_one_dial_is_refused_across(fitted: Callable[..., Fit]) -> None:
    law = fitted("synthetic/s03_collinear_w_eq_64l.csv")
    with pytest.raises(FitError, match="not how it is shared"):
        plan(law, params=1e9)
    along = plan(law, params=1e9, ray=True, **FEW)
    assert along.width.value / along.depth.value == pytest.approx(64, rel=1e-3)
    assert along.loss.high / along.loss.low < 1.02
