"""The laboratory's experiments at the smallest scale, and what is said about it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from depthlaw.cli import main
from depthlaw.lab.presets import preset
from depthlaw.reproduce import lab_runs
from depthlaw.reproduce.expected import expected
from depthlaw.reproduce.lab_runs import configuration
from depthlaw.reproduce.outcome import Verdict, compare
from depthlaw.reproduce.registry import EXPERIMENTS, select

LABORATORY = ("fig3b", "fig4a", "fig4b", "fig4c", "fig5", "appC3")


def test_every_experiment_runs_at_the_smallest_scale(tmp_path: Path, capsys) -> None:
    assert main(["reproduce", *LABORATORY, "--scale", "smoke", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["experiments"]) == len(LABORATORY)
    for name in LABORATORY:
        assert (tmp_path / name / f"{name}.pdf").exists()
        assert "REDUCED SCALE (smoke)" in (tmp_path / name / "outcome.json").read_text()


def test_theory_passes_at_the_smallest_scale() -> None:
    outcome = select(["theory"])[0].run("smoke")
    assert outcome.verdict is Verdict.PASS
    assert len(outcome.comparisons) == 7


def test_without_torch_an_experiment_is_skipped_with_the_reason(monkeypatch) -> None:
    monkeypatch.setattr("depthlaw.lab.engine.importlib.util.find_spec", lambda name: None)
    outcome = select(["fig5"])[0].run("smoke")
    assert outcome.verdict is Verdict.SKIPPED
    assert "depthlaw[lab]" in outcome.skipped


def test_a_run_in_the_cache_with_other_settings_is_made_anew(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path))
    smoke = replace(configuration("mse-long", "smoke"), rho=(0.0,), replicates=1)
    for steps in (4, 6):
        changed = replace(smoke, steps=steps, log_every=1, test_every=0)
        monkeypatch.setattr(lab_runs, "configuration", lambda name, scale, changed=changed: changed)
        lab_runs.lab_run.cache_clear()
        assert lab_runs.lab_run("mse-long", "small").config.steps == steps
    lab_runs.lab_run.cache_clear()


@pytest.mark.parametrize("name", ["kl-independent", "kl-tied", "kl-tied-long", "mse-long", "mse-midpoint"])
def test_the_papers_scale_is_the_protocol(name: str) -> None:
    found, whole = configuration(name, "paper"), preset(name)
    assert found.replicates == 3
    assert (found.steps, found.batch, found.teacher, found.student, found.temperatures) == (
        whole.steps,
        whole.batch,
        whole.teacher,
        whole.student,
        whole.temperatures,
    )


@pytest.mark.parametrize(
    ("alpha", "verdict"),
    [(2.5, Verdict.DIFFERS), (3.2, Verdict.PASS), (5.0, Verdict.PASS), (8.0, Verdict.DIFFERS)],
)
def test_midpoint_students_of_tied_teachers_are_expected_above_three(alpha: float, verdict: Verdict) -> None:
    found = compare("alpha_tied", expected("appC3", "paper")["alpha_tied"], alpha)
    assert found.verdict is verdict
    assert "above 3" in found.note


def test_reduced_scales_expect_what_other_seeds_have_shown_with_their_spread() -> None:
    for name in LABORATORY:
        for quantity, theirs in expected(name, "small").items():
            assert theirs.error, f"{name} {quantity}"
            assert 0 < theirs.error < 0.5 * theirs.value, f"{name} {quantity}"


def test_what_is_expected_names_experiments_of_the_registry() -> None:
    for name in LABORATORY:
        assert expected(name, "paper")
        assert expected(name, "small"), name
    for name in ("fig5", "appC3"):
        assert set(expected(name, "small")) >= {"alpha_independent", "alpha_tied"}
    assert {experiment.id for experiment in EXPERIMENTS} >= set(LABORATORY)
