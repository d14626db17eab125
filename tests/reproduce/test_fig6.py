"""Fig. 6 without the hub: skipped, on a stand-in, and the comparison that Pythia models get."""

from pathlib import Path

import pytest

from depthlaw.errors import InputError
from depthlaw.reproduce import fig6
from depthlaw.reproduce.outcome import Verdict
from depthlaw.reproduce.paper import published
from depthlaw.reproduce.probe_inputs import Candidate


def test_without_torch_it_is_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr(fig6.importlib.util, "find_spec", lambda name: None)
    found = fig6.run("smoke")
    assert found.verdict is Verdict.SKIPPED
    assert "depthlaw[llm]" in found.skipped


def test_without_any_model_it_is_skipped(monkeypatch, tmp_path):
    pytest.importorskip("transformers")
    monkeypatch.setenv("DEPTHLAW_MODELS", str(tmp_path))
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path))
    assert "no Pythia model" in fig6.run("smoke").skipped


def test_every_size_has_its_published_numbers():
    theirs = published("fig6")
    assert {name.partition("_")[2].partition("_")[2].replace("_", ".") for name in theirs} == set(
        fig6.PYTHIA["paper"]
    )
    assert theirs["p_clean_12b"].value == 0.361
    assert theirs["p_corrupt_12b"].value == 0.0116


@pytest.mark.data
def test_a_stand_in_is_traced_and_not_compared(models_dir, monkeypatch, tmp_path):
    pytest.importorskip("transformers")
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path))
    found = fig6.run("smoke")
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert any("no published number" in notice for notice in found.notices)
    (name,) = found.figures
    assert set(found.tables) == {f"{name}_cells.parquet", f"{name}_prompts.parquet"}
    trace = fig6._trace
    stand_in = str(fig6.local_model())
    monkeypatch.setattr(fig6, "PYTHIA", {"smoke": ("70m",)})
    monkeypatch.setattr(fig6, "own", lambda model: Candidate("pythia-70m", stand_in, own=True))
    monkeypatch.setattr(fig6, "_trace", lambda model, prompt, scale: trace(stand_in, prompt, scale))
    compared = fig6.run("smoke")
    assert [row.quantity for row in compared.comparisons] == ["p_clean_70m", "p_corrupt_70m"]


@pytest.fixture
def loaded(monkeypatch):
    """Sizes in the order in which they are loaded, all of the hub; what a test puts for one is raised."""
    loads, errors = [], {}

    def trace(place, prompt, scale):
        size = place.rpartition("-")[2]
        loads.append(size)
        if size in errors:
            raise errors[size]
        return f"trace of {size}"

    monkeypatch.setattr(fig6, "own", lambda model: Candidate(model.rpartition("/")[2], model, own=True))
    monkeypatch.setattr(fig6, "kept_by_the_hub", lambda model: Path(model))
    monkeypatch.setattr(fig6, "_trace", trace)
    return loads, errors


@pytest.mark.parametrize(
    "error", [InputError("the files lack 3 weights.", "Mend them."), RuntimeError("out of memory\nat 0x1")]
)
def test_a_size_that_fails_is_recorded_and_the_others_are_traced(loaded, error):
    loads, errors = loaded
    errors["160m"] = error
    traces, said = fig6._published_sizes("paper")
    assert loads == list(fig6.PYTHIA["paper"])
    assert list(traces) == [size for size in loads if size != "160m"]
    assert said == [f"pythia-160m: {str(error).splitlines()[0]}"]


def test_a_hub_that_fails_is_not_asked_for_larger_sizes_but_those_here_are_traced(
    loaded, monkeypatch, tmp_path
):
    loads, errors = loaded
    errors["160m"] = InputError("the connection broke.")
    monkeypatch.setattr(fig6, "kept_by_the_hub", lambda model: None)
    here = tmp_path / "pythia-1.4b"
    here.mkdir()
    places = {f"EleutherAI/{here.name}": str(here)}
    monkeypatch.setattr(
        fig6, "own", lambda model: Candidate(model.rpartition("/")[2], places.get(model, model), own=True)
    )
    traces, said = fig6._published_sizes("paper")
    assert loads == ["70m", "160m", "1.4b"]
    assert list(traces) == ["70m", "1.4b"]
    assert said == ["pythia-160m, pythia-1b, pythia-2.8b, pythia-12b: the connection broke."]


def test_sizes_that_cannot_be_had_are_named_with_the_reason(monkeypatch):
    monkeypatch.setattr(fig6, "own", lambda model: None)
    monkeypatch.setattr(fig6, "why_not_reachable", lambda: "HF_HUB_OFFLINE is set")
    assert fig6._published_sizes("small") == ({}, ["pythia-70m, pythia-160m: HF_HUB_OFFLINE is set"])
