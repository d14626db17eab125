"""Students that are worse than untrained at the end, and those that only look like it."""

from __future__ import annotations

import numpy as np
import pytest

from depthlaw.lab.config import Rate
from depthlaw.lab.experiment import train_lab
from depthlaw.lab.saturation import NEVER, saturated_since
from depthlaw.lab.training import Task, Trainer

STEPS = [10, 20, 30, 40]
UNTRAINED = np.array([[0.9, 1.0, 1.1]] * 5)


def test_the_step_is_the_first_of_those_that_stay_above_the_start() -> None:
    train = np.array(
        #  learns  bursts at 30  burst that passes  at the very end  diverged
        [
            [0.8, 0.7, 0.7, 0.7, 0.7],
            [0.5, 0.6, 2.0, 0.5, np.nan],
            [0.3, 2.0, 0.4, 0.4, np.nan],
            [0.2, 2.0, 0.3, 0.9, np.nan],
        ]
    )
    last = np.array([0.2, 2.0, 0.3, 2.0, np.nan])
    test = last[:, None] + np.array([[-0.1, 0.0, 0.1]])
    assert saturated_since(STEPS, train, test, UNTRAINED).tolist() == [NEVER, 30, NEVER, 40, NEVER]


def test_a_loss_within_the_errors_of_the_start_is_not_worse() -> None:
    train = np.full((4, 5), 1.01)
    noisy = np.full((5, 3), 1.05) + np.array([[-0.1, 0.0, 0.1]])
    assert (saturated_since(STEPS, train, noisy, UNTRAINED) == NEVER).all()
    sharp = np.full((5, 3), 1.5)
    assert (saturated_since(STEPS, train, sharp, UNTRAINED) == 10).all()


def test_a_single_test_batch_has_no_error() -> None:
    found = saturated_since([10], np.array([[2.0, 0.5]]), np.array([[2.0], [0.5]]), np.array([[1.0], [1.0]]))
    assert found.tolist() == [10, NEVER]


@pytest.mark.parametrize(
    "protocol",
    [{}, {"loss": "kl", "head": "learned", "temperatures": (0.1, 1.0), "test_every": 0}],
    ids=["mse", "kl"],
)
def test_untrained_students_hand_their_input_on(small, engine: str, protocol) -> None:
    trainer = Trainer(small(engine=engine, **protocol), Task(0, 0.0))
    # Students of one temperature are the same function before training, whatever their depth.
    per_temperature = trainer.untrained.reshape(-1, 3, trainer.untrained.shape[1])
    np.testing.assert_allclose(per_temperature, per_temperature[:, :1].repeat(3, axis=1), rtol=1e-6)
    first = trainer.advance()
    np.testing.assert_allclose(first, trainer.untrained.mean(1), rtol=0.3)


def test_a_rate_that_is_too_high_is_noticed_and_stops_nothing(small, engine: str) -> None:
    result = train_lab(small(engine=engine, rate=Rate(base=30.0, rule="constant")))
    assert result.status == "done"
    assert [row["depth"] for row in result.saturated] == [2, 5, 3]
    assert result.final().num_rows == 3
    for row, final in zip(result.saturated, result.final().to_pylist(), strict=True):
        assert row["saturated"] in STEPS
        assert final["test_loss"] > row["untrained_loss"]
    assert all("worse than untrained" in notice.message for notice in result.notices)
    assert "worse than untrained" in result._repr_html_()


def test_students_that_learn_are_not_accused(small, engine: str) -> None:
    assert not train_lab(small(engine=engine, rho=(0.0, 1.0))).notices
