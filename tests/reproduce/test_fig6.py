"""Fig. 6 without the hub: skipped, on a stand-in, and the comparison that Pythia models get."""

import pytest

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
