"""Fig. 2a to 2e without the hub: skipped, on stand-ins, and the comparison that the paper's models get."""

from __future__ import annotations

import shutil

import pytest

transformers = pytest.importorskip("transformers")
import torch  # noqa: E402

from depthlaw import hub  # noqa: E402
from depthlaw.reproduce import fig2, inputs, probe_inputs, probe_runs  # noqa: E402
from depthlaw.reproduce.outcome import Verdict  # noqa: E402
from depthlaw.reproduce.paper import published  # noqa: E402
from depthlaw.reproduce.registry import select  # noqa: E402

LAYERS = ("fig2a", "fig2b", "fig2c", "fig2d")


@pytest.fixture(autouse=True)
def folders(monkeypatch, tmp_path):
    """A machine with a little text, no models and no connection."""
    for name in ("models", "cache", "data/text"):
        (tmp_path / name).mkdir(parents=True)
    line = "the quick brown fox jumps over a lazy dog and goes home to sleep until noon"
    stories = [line[i % 9 : 20 + (7 * i) % 50] for i in range(300)]
    (tmp_path / "data/text/tinystories.txt").write_text("\n<|endoftext|>\n".join(stories))
    monkeypatch.setenv("DEPTHLAW_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DEPTHLAW_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(probe_inputs, "kept_by_the_hub", lambda model: None)
    probe_runs.probe_run.cache_clear()
    return tmp_path


@pytest.fixture
def put(folders):
    """A function that puts a tiny model with a tokenizer of bytes where models are found by name."""

    def put(name, depth=4, family="Llama"):
        sizes = {"vocab_size": 257, "hidden_size": 16, "num_hidden_layers": depth, "num_attention_heads": 2}
        sizes |= {"intermediate_size": 32, "max_position_embeddings": 64}
        torch.manual_seed(depth)
        config = getattr(transformers, f"{family}Config")(**sizes)
        model = getattr(transformers, f"{family}ForCausalLM")(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() >= 2:
                    parameter.normal_(0, 0.5 / depth)
        model.save_pretrained(folders / "models" / name)
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=None)
        fast.save_pretrained(folders / "models" / name)
        return folders / "models" / name

    return put


@pytest.fixture
def passes(monkeypatch):
    """Names of the models that were really run, in order."""
    run, names = probe_runs.probe, []

    def counted(model, text, **settings):
        seen = []
        result = run(model, text, observers=(), **{**settings, "progress": lambda *done: seen.append(done)})
        names.extend([model.name] * bool(seen))
        return result

    monkeypatch.setattr(probe_runs, "probe", counted)
    return names


def panel(name, scale="smoke"):
    return getattr(fig2, name)(scale)


def test_without_torch_it_is_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr(fig2.importlib.util, "find_spec", lambda name: None)
    found = panel("fig2a")
    assert found.verdict is Verdict.SKIPPED
    assert "depthlaw[llm]" in found.skipped


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
def test_without_any_model_it_is_skipped_and_the_papers_are_named(scale):
    found = panel("fig2b", scale)
    assert "no model" in found.skipped
    said = " ".join(found.notices)
    assert "pythia-410m, opt-125m, Qwen2.5-0.5B" in said
    assert ("too large for scale smoke" if scale == "smoke" else "HF_HUB_OFFLINE is set") in said


def test_without_text_it_is_skipped(put, monkeypatch):
    put("tiny")
    monkeypatch.delenv("DEPTHLAW_DATA")
    assert "no text" in panel("fig2a").skipped


def test_a_stand_in_is_probed_once_for_four_figures_and_not_compared(put, passes):
    put("tiny")
    outcomes = {name: panel(name) for name in LAYERS}
    assert passes == ["tiny"]
    for name, found in outcomes.items():
        assert found.verdict is Verdict.NOT_COMPARABLE
        assert set(found.figures) == {name}
        assert set(found.tables) == {f"{name}.parquet"}
        assert set(found.tables[f"{name}.parquet"].rows.column_names) == set(
            found.tables[f"{name}.parquet"].units
        )
        assert any("no published number is comparable" in notice for notice in found.notices)
        assert any("tinystories.txt instead of FineWeb" in notice for notice in found.notices)
        assert found.statements
    angles = {row.quantity: row for row in outcomes["fig2a"].comparisons}
    assert set(angles) == {f"tiny: theta_{place}" for place in ("first", "last", "middle")}
    # Ours and its error are shown all the same.
    for row in (*angles.values(), *outcomes["fig2c"].comparisons):
        assert 0 < row.ours < 3.15
        assert 0 < row.error < 0.5
        assert row.difference is None


def test_every_defect_of_the_published_method_has_both_numbers(put):
    put("pythia-410m", family="GPTNeoX")
    shown = {row.defect: row for name in LAYERS for row in panel(name, "small").corrections}
    for part in (
        "final norm (last θ)",
        "last θ(Δh)",
        "of all tokens",
        "enter every mean (mean middle θ)",
        "hides padding",
    ):
        (row,) = (row for defect, row in shown.items() if part in defect)
        assert row.reference is not None
        assert row.corrected is not None
        assert row.reference != row.corrected, part
    (clusters,) = (row for defect, row in shown.items() if "early stoppers" in defect)
    assert (clusters.reference is None) == ("do not support" in clusters.defect)


def test_the_mask_is_no_defect_of_other_families(put):
    put("tiny")
    (row,) = panel("fig2d").corrections
    assert (row.reference, row.corrected) == (None, None)
    assert "no GPT-NeoX model" in row.defect


def test_the_papers_own_model_is_compared_with_published_numbers(put):
    put("opt-125m", depth=5)
    put("pythia-410m", family="GPTNeoX")
    found = panel("fig2a", "small")
    verdicts = {row.quantity: row.verdict for row in found.comparisons}
    for place in ("first", "last"):
        assert verdicts[f"pythia-410m: theta_{place}"] in (Verdict.PASS, Verdict.DIFFERS)
        assert verdicts[f"opt-125m: theta_{place}"] is Verdict.NOT_COMPARABLE
    # Drawn, not measured.
    assert verdicts["pythia-410m: theta_middle"] is Verdict.NOT_COMPARABLE
    assert any("Skipped: Qwen2.5-0.5B (HF_HUB_OFFLINE is set)" in notice for notice in found.notices)
    assert not any("instead of the paper's models" in notice for notice in found.notices)


def test_a_run_is_kept_for_other_processes_and_made_anew_for_another_model(put, passes, folders):
    put("pythia-410m", family="GPTNeoX")
    first = panel("fig2c", "small")
    assert passes == ["pythia-410m"]
    probe_runs.probe_run.cache_clear()
    again = panel("fig2c", "small")
    assert passes == ["pythia-410m"]
    assert again.comparisons == first.comparisons
    assert (folders / "cache/probe/pythia-410m-small-lens/manifest.json").exists()
    put("pythia-410m", depth=6, family="GPTNeoX")
    probe_runs.probe_run.cache_clear()
    assert "6 blocks" in panel("fig2c", "small").input
    assert passes == ["pythia-410m"] * 2


def test_depths_need_three_models(put, passes):
    put("a", depth=4)
    put("b", depth=6)
    found = panel("fig2e")
    assert "three models of different depth, and only a, b" in found.skipped
    assert passes == []
    put("c", depth=4)
    assert "only 4, 6 blocks" in panel("fig2e").skipped


def test_models_of_this_machine_stand_in_for_the_sizes(put):
    for name, depth in (("a", 4), ("b", 6), ("c", 9), ("shallow", 2)):
        put(name, depth=depth)
    found = panel("fig2e")
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert found.tables["fig2e.parquet"].rows["depth"].to_pylist() == [4, 6, 9]
    (row,) = found.comparisons
    assert row.ours is not None
    assert any("Skipped: shallow (2 blocks, which leave no middle)" in notice for notice in found.notices)
    assert "falls as depth^-" in found.statements[0]
    assert len(found.corrections) == 2


def test_the_sizes_of_the_paper_are_compared(put):
    for name, depth in (("pythia-70m", 4), ("pythia-160m", 6), ("pythia-410m", 9)):
        put(name, depth=depth, family="GPTNeoX")
    (row,) = panel("fig2e", "small").comparisons
    assert row.verdict in (Verdict.PASS, Verdict.DIFFERS)
    assert row.published == 1.0


def test_published_numbers_are_those_of_the_paper():
    assert published("fig2a")["theta_middle"].value == 0.45
    assert published("fig2b")["early_share"].value == 0.004
    assert published("fig2e")["beta"].value == 1.0
    assert published("fig2a")["theta_last"].value == pytest.approx(1.5708, abs=1e-4)


def test_the_paper_scale_is_the_protocol():
    config = probe_runs.configuration("paper", lens=True)
    assert (config.limit, config.max_length, config.mode) == ("4800 documents", 1024, "paper")
    assert config.reading == "block"


def test_a_hub_that_fails_for_one_model_is_not_asked_for_the_others(monkeypatch):
    monkeypatch.setattr(probe_inputs, "why_not_reachable", lambda: "")
    tried = []

    def load(place, **_):
        tried.append(place)
        raise probe_runs.InputError("the connection broke.", "Try again.")

    monkeypatch.setattr(probe_runs, "load_model", load)
    found = panel("fig2a", "small")
    assert panel("fig2b", "small").skipped
    assert tried == ["EleutherAI/pythia-410m"]
    assert found.skipped
    assert sum("the connection broke" in notice for notice in found.notices) == 3


def test_what_is_here_decides_whether_an_outcome_still_holds(put, monkeypatch, folders):
    assert (probe_inputs.identity("small"), probe_inputs.identity("smoke")) == ("none", "none")
    place = put("tiny")
    before = probe_inputs.identity("small")
    assert before.startswith("tiny, ")
    assert probe_inputs.text_identity("smoke").startswith("tinystories.txt, ")
    (place / "more").write_text("x")
    assert probe_inputs.identity("small") != before
    monkeypatch.setattr(probe_inputs, "why_not_reachable", lambda: "")
    from_the_hub = probe_inputs.identity("small")
    assert from_the_hub.startswith("pythia-410m; opt-125m")
    assert probe_inputs.identity("smoke").startswith("tiny, ")
    # Once fetched it is still the same.
    for model in (*probe_inputs.LAYERS, *probe_inputs.SIZES):
        shutil.copytree(place, folders / "hub" / model / "0123abc", dirs_exist_ok=True)
    monkeypatch.setattr(probe_inputs, "kept_by_the_hub", lambda model: folders / "hub" / model / "0123abc")
    assert probe_inputs.identity("small") == from_the_hub


def test_a_hub_that_can_be_reached_again_is_another_input_of_fig6(put, monkeypatch):
    put("tiny")
    needs = select(["fig6"])[0].needs
    stand_in = inputs.inputs(needs, "small")
    assert stand_in["traced"].startswith("tiny, ")
    monkeypatch.setattr(probe_inputs, "why_not_reachable", lambda: "")
    assert inputs.inputs(needs, "small")["traced"] == "pythia-70m; pythia-160m"
    assert inputs.inputs(needs, "smoke") == stand_in


@pytest.fixture
def no_network(monkeypatch):
    """Fails when anything is asked for."""

    def urlopen(*_, **__):
        raise AssertionError("asked the network")

    monkeypatch.setattr(hub.urllib.request, "urlopen", urlopen)


def test_offline_and_smoke_never_ask_the_network(no_network, monkeypatch, put):
    put("tiny")
    assert hub.why_not_reachable() == "HF_HUB_OFFLINE is set"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(hub, "Thread", None)
    assert panel("fig2c").figures
    assert probe_inputs.identity("smoke").startswith("tiny")
