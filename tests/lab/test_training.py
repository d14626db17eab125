"""Training: stopping and going on, divergence, agreement of the engines, what is measured when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from depthlaw.lab.checkpoint import to_bytes
from depthlaw.lab.config import LabConfig, Rate, Student, seconds
from depthlaw.lab.plan import cost
from depthlaw.lab.presets import preset
from depthlaw.lab.torch_engine import TorchEngine
from depthlaw.lab.training import ALIVE, Task, Trainer, run_to_end

PROTOCOLS = {
    "mse": {},
    "tied": {"rho": (1.0,)},
    "midpoint": {"student": Student(depths=(2, 3), order=2)},
    "kl-learned": {"loss": "kl", "head": "learned", "temperatures": (0.1, 1.0), "test_every": 0},
    "kl-fixed": {"loss": "kl", "head": "fixed", "temperatures": (0.1, 1.0), "temperature_of": "both"},
}


def trained(config: LabConfig, steps: int | None = None) -> Trainer:
    trainer = Trainer(config, Task(0, config.rho[0]))
    for _ in range(config.steps if steps is None else steps):
        trainer.advance()
    return trainer


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_going_on_from_a_state_is_as_never_having_stopped(small, engine: str, protocol: str) -> None:
    config = small(engine=engine, **PROTOCOLS[protocol])
    whole = trained(config)
    half = trained(config, 17)
    state = {name: array.copy() for name, array in half.state().items()}
    half.advance()
    resumed = Trainer(config, Task(0, config.rho[0]))
    resumed.load_state(state)
    while not resumed.done:
        resumed.advance()
    assert to_bytes(resumed.state(), {}) == to_bytes(whole.state(), {})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_engines_agree(small, kernel: None, protocol: str) -> None:
    found = {}
    for engine in ("torch", "fused"):
        settings = PROTOCOLS[protocol] | {"steps": 200, "test_every": 200}
        trainer = trained(small(engine=engine, **settings))
        assert trainer.engine.name == engine
        found[engine] = trainer.curves.test[-1].mean(-1)
    assert found["torch"] == pytest.approx(found["fused"], rel=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "temperatures"), [("mse", ()), ("kl-independent", (0.1, 1.0)), ("kl-tied-long", (0.1, 1.0))]
)
def test_engines_agree_at_the_protocols_size(kernel: None, name: str, temperatures) -> None:
    """Width 32, hidden 128, batches of 1,024, a teacher of 128 blocks, students of six depths."""
    whole = preset(name)
    assert (whole.width, whole.hidden, whole.batch, len(whole.student.depths)) == (32, 128, 1024, 6)
    found = {}
    for engine in ("torch", "fused"):
        config = replace(whole, engine=engine, steps=200, test_every=200, log_every=200)
        trainer = trained(replace(config, temperatures=temperatures, threads=1))
        assert trainer.engine.name == engine
        found[engine] = trainer.curves.test[-1].mean(-1)
    off = np.abs(found["torch"] / found["fused"] - 1)
    print(f"{name}: largest difference of a test loss {off.max():.1e}")
    assert off.max() < 5e-3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_students_learn(small, protocol: str) -> None:
    trainer = trained(small(steps=150, **PROTOCOLS[protocol] | {"test_every": 150, "log_every": 10}))
    first, last = trainer.curves.train[0], trainer.curves.train[-1]
    assert (last < 0.9 * first).all()


def test_a_student_that_diverges_stops_alone(small, engine: str) -> None:
    config = small(engine=engine)
    whole = trained(config)
    trainer = trained(config, 15)
    state = trainer.state()
    state["depth5.B"][0] = np.nan
    trainer.load_state(state)
    run_to_end(trainer)
    assert trainer.stopped.tolist() == [ALIVE, 15, ALIVE]
    for here, there in zip(trainer.curves.train, whole.curves.train, strict=True):
        assert np.array_equal(here[[0, 2]], there[[0, 2]])
    assert np.isnan(trainer.curves.train[-1][1])
    assert np.isnan(trainer.curves.test[-1][1]).all()
    assert np.isfinite(trainer.curves.test[-1][[0, 2]]).all()


def test_when_all_have_diverged_the_task_is_over(small, engine: str) -> None:
    config = small(engine=engine, rate=Rate(base=1e39))
    trainer = Trainer(config, Task(0, 0.0))
    run_to_end(trainer)
    assert (trainer.stopped > 0).all()
    assert trainer.step < config.steps


def test_tests_are_taken_when_due(small) -> None:
    curves = trained(small()).curves
    assert curves.step == [10, 20, 30, 40]
    assert [bool(np.isfinite(test).all()) for test in curves.test] == [False, True, False, True]


@pytest.mark.parametrize("settings", [{}, {"test_every": 0}, {"steps": 50}])
def test_the_plan_counts_the_tests_that_are_taken(small, settings) -> None:
    config = small(**settings)
    taken = []
    losses = TorchEngine.losses

    def counted(engine, x):
        taken.append(x)
        return losses(engine, x)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TorchEngine, "losses", counted)
        assert trained(config).done
    blocks = config.teacher.depth + sum(config.student.depths)
    test = 4 * config.batch * config.hidden * config.width * blocks
    found = cost(config)
    assert found.flops == config.steps * found.step_flops + len(taken) * test


def test_rates_follow_their_rule() -> None:
    rate = Rate(base=2.0, per_depth=True, rule="decay")
    assert rate.at(0, 1000, 4) == 1.0
    assert rate.at(800, 1000, 4) == 1.0
    assert rate.at(900, 1000, 4) == pytest.approx(0.55)
    assert rate.at(1000, 1000, 1) == pytest.approx(0.2)
    assert Rate(base=2.0, per_depth=False, rule="constant").at(999, 1000, 4) == 2.0


@pytest.mark.parametrize(("text", "value"), [("60s", 60), ("2m", 120), ("1h", 3600), ("0.5", 0.5)])
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value
