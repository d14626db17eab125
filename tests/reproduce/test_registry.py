from __future__ import annotations

import importlib

import pytest

from depthlaw.errors import UsageError
from depthlaw.reproduce.outcome import Outcome
from depthlaw.reproduce.registry import EXPERIMENTS, Experiment, select


def test_every_experiment_is_there_and_carries_its_title() -> None:
    assert len({e.id for e in EXPERIMENTS}) == len(EXPERIMENTS)
    for experiment in EXPERIMENTS:
        module, _, function = experiment.place.partition(":")
        found = importlib.import_module(module)
        assert callable(getattr(found, function))
        assert experiment.title == getattr(found, "TITLE", experiment.title)


def test_selection_by_id_and_by_its_beginning() -> None:
    assert select(()) == EXPERIMENTS
    assert [e.id for e in select(["fig2f"])] == ["fig2f"]
    fig2 = [f"fig2{letter}" for letter in "abcdef"]
    assert [e.id for e in select(["FIG2"])] == fig2
    assert [e.id for e in select(["fig2", "fig2f"])] == fig2


def test_an_unknown_experiment_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match='experiment "fig2g" not found') as error:
        select(["fig2f", "fig2g"])
    assert "Did you mean fig2f?" in str(error.value)


def test_an_experiment_is_imported_when_it_runs() -> None:
    experiment = Experiment("x", "t", "nowhere.at.all:run")
    with pytest.raises(ModuleNotFoundError):
        experiment.run("smoke")


def test_running_passes_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    from depthlaw.reproduce import fig2f

    monkeypatch.setattr(fig2f, "run", lambda scale: Outcome("fig2f", scale, ""))
    assert select(["fig2f"])[0].run("smoke").title == "smoke"
