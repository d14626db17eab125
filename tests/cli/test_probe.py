"""``depthlaw probe`` from the outside, on a real small model."""

import io
import json
import sys
import types
from pathlib import Path

import pytest

from depthlaw.cli import main

pytestmark = pytest.mark.data


@pytest.fixture
def words(data_dir, models_dir):
    """The words of a small probe; the model is found by its name."""
    text = str(Path(data_dir) / "text" / "tinystories.txt")
    return ["probe", "stories260K", "--text", text, "--limit", "12", "--batch-size", "4"]


def run(capsys, words, code=0):
    assert main(words) == code, capsys.readouterr().err
    return capsys.readouterr()


def test_a_line_a_block_and_three_sentences(capsys, words):
    said = run(capsys, words).out
    lines = said.splitlines()
    assert lines[0].startswith("stories260K: 5 blocks × 64, float32")
    table = [line for line in lines if line.strip()[:1].isdigit() and "█" in line]
    assert [line.split()[0] for line in table] == ["1", "2", "3", "4", "5"]
    assert [line.partition(":")[0].split()[0] for line in lines[-4:-1]] == ["Ends", "Neighbouring", "Early"]
    assert "cut at 512 tokens" in lines[-1]


@pytest.mark.parametrize("lens", [["--lens"], ["--lens", "direct"]])
def test_json_is_one_object_with_the_figures(capsys, words, lens):
    result = json.loads(run(capsys, [*words, *lens, "--json"]).out)
    assert (result["schema"], result["depth"], result["n_documents"]) == (1, 5, 12)
    theta = [row["mean"] for row in result["layers"]["theta_state"]["all"]]
    assert result["findings"]["middle"] == pytest.approx(sum(theta[1:-1]) / 3)
    ce = [row["mean"] for row in result["layers"]["lens_ce"]["all"]]
    assert len(ce) == (6 if lens[1:] else 5)
    # The model was trained to about 1.4 nats on these stories; its first blocks alone know little.
    assert ce[-1] == pytest.approx(1.35, abs=0.15)
    assert ce[0] > 3
    assert result["units"]["theta_state"] == "rad"
    assert len(result["sentences"]) == 4


def test_the_same_command_twice_computes_once(capsys, words, tmp_path):
    words = [*words, "--out", str(tmp_path / "run")]
    first = run(capsys, words).out
    stamp = (tmp_path / "run" / "result.json").stat().st_mtime_ns
    assert run(capsys, words).out == first
    assert (tmp_path / "run" / "result.json").stat().st_mtime_ns == stamp
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["verb"], manifest["status"], manifest["dtype"]) == ("probe", "done", "float32")
    assert manifest["units"]["theta_state"] == "rad"
    files = {
        "summary.parquet",
        "pairs.parquet",
        "tokens/00000.parquet",
        "examples.json",
        "figures/glance.svg",
    }
    assert files <= set(manifest["files"])
    said = run(capsys, [*words, "--lens"], code=2).err
    assert "other settings: lens false → true" in said


def test_dry_run_estimates_and_measures_nothing(capsys, words, tmp_path):
    said = run(capsys, [*words, "--dry-run", "--out", str(tmp_path / "run")]).out
    for word in ("5 blocks", "memory:", "tokens/s", "time: about", "batch_size = 4"):
        assert word in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"stories260K": "stories260k-typo"}, 3, "Did you mean stories260K?"),
        ({"--limit": "--limitt"}, 2, "Did you mean --limit?"),
        ({"12": "twelve"}, 2, 'limit "twelve" not understood'),
        ({"4": "0"}, 2, "batch_size must be at least 1"),
    ],
)
def test_what_is_wrong_is_said_in_three_lines_at_most(capsys, words, monkeypatch, change, code, said):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    err = run(capsys, [change.get(word, word) for word in words], code).err
    assert said in err
    assert len(err.splitlines()) <= 3


@pytest.mark.parametrize("verb", ["probe", "ablate"])
def test_standard_input_as_documented(capsys, words, monkeypatch, verb):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"Once upon a time")))
    said = run(capsys, [verb, "stories260K", "--text", "-", "--limit", "2 tokens"]).out
    assert "documents are read whole" in said
    assert "the model's context" in said or verb == "ablate"  # which takes 512 tokens by default
