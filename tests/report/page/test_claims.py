"""The claim table: what is counted, what stands for an experiment without numbers, what published means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from depthlaw.report.page.claims import VERDICTS, claim_groups, counts, references
from depthlaw.report.page.gather import gather
from depthlaw.report.page.sentences import lead
from depthlaw.report.page.words import words
from depthlaw.reproduce.lab_runs import reduced_reference
from depthlaw.reproduce.outcome import compare
from depthlaw.reproduce.paper import Published
from depthlaw.reproduce.registry import EXPERIMENTS

from .conftest import ALPHA, outcome_of

Keep = Callable[..., Path]
FAR = compare("alpha_width", Published(1.2, "Fig. 2f", 1.0, error=0.3), 3.0)
RELATIVE = compare("mean_abs_rel_error", Published(0.004, "App. B.3", 0.05), 0.00396)
UNKNOWN = compare("floor", Published(1.75, "App. B.3", 1.0), None)


def test_every_kind_of_claim(tmp_path: Path, keep: Keep) -> None:
    keep(tmp_path, outcome_of("fig2f", comparisons=(ALPHA, FAR, RELATIVE, UNKNOWN)))
    keep(tmp_path, outcome_of("fig3b", comparisons=()))
    keep(tmp_path, outcome_of("fig4a", comparisons=(), skipped="no torch here"))
    keep(tmp_path, outcome_of("fig4b", comparisons=(), failed="ValueError: x"))
    (keep(tmp_path, outcome_of("fig5")) / "outcome.json").unlink()
    groups = claim_groups(gather(tmp_path))
    rows = [(c.experiment, c.number, c.difference, c.verdict, c.note) for g in groups[:5] for c in g.claims]
    assert rows[:4] == [
        ("fig2f", "depth exponent α_ℓ", "+0.42 s.e.", "pass", ""),
        ("fig2f", "width exponent α_m", "+6.00 s.e.", "differs", ""),
        ("fig2f", "mean relative error of the fit", "-1 %", "pass", ""),
        ("fig2f", "irreducible loss L₀", "—", "not comparable", ""),
    ]
    assert rows[4:7] == [
        ("fig3b", "", "—", "not comparable", "no number that this input and scale could show"),
        ("fig4a", "", "—", "skipped", "no torch here"),
        ("fig4b", "", "—", "failed", "ValueError: x"),
    ]
    assert rows[7][:4] == ("fig5", "", "—", "failed")
    units = [claim.difference_unit for claim in groups[0].claims]
    assert units == ["s.e.", "s.e.", "relative", None]
    found = counts(groups)
    assert list(found) == list(VERDICTS)
    absent = len(EXPERIMENTS) - 5
    assert list(found.values()) == [2, 1, 2, 1, 2, absent]
    assert [g.experiment for g in groups[5:]] == [
        e.id for e in EXPERIMENTS if e.id not in ("fig2f", "fig3b", "fig4a", "fig4b", "fig5")
    ]
    assert lead(gather(tmp_path))[1] == (
        f"At smoke scale, which takes seconds and shows that everything runs, of {8 + absent} claims 2 pass, "
        f"1 differs, 2 are not comparable, 1 was skipped, 2 failed and {absent} were not run."
    )


def test_an_experiment_that_did_not_end_was_not_run(tmp_path: Path, keep: Keep) -> None:
    folder = keep(tmp_path)
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace('"status": "done"', '"status": "running"'))
    (claim,) = claim_groups(gather(tmp_path))[0].claims
    assert (claim.verdict, claim.note) == ("not run", "did not come to its end")


def test_a_published_column_that_is_not_the_papers_says_so(tmp_path: Path, keep: Keep) -> None:
    said = reduced_reference("smoke")
    keep(tmp_path, outcome_of("fig5", reference=said))
    keep(tmp_path, outcome_of("fig4a", reference=said, comparisons=()))
    keep(tmp_path, outcome_of("fig2f"))
    groups = {group.experiment: group for group in claim_groups(gather(tmp_path))}
    assert (groups["fig5"].reference, groups["fig2f"].reference) == (said, "")
    assert references(tuple(groups.values())) == (said,)  # once, and only for what is compared
    assert references((groups["fig4a"],)) == ()
    warned = {warn.message: warn.about for warn in gather(tmp_path).warnings}
    assert warned[said] == ("fig4a", "fig5")  # and on top, with all that say it


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        ("alpha_depth", "depth exponent α_ℓ"),
        ("alpha_tokens_error", "standard error of the token exponent α_D"),
        ("alpha_depth_of_depth_less_2", "depth exponent α_ℓ, depth counted as ℓ − 2"),
        ("alpha_random_order_1", "depth exponent α_ℓ, random order 1"),
        ("p_corrupt_70m", "p(target), corrupt, 70m"),
        ("p_clean_1_4b", "p(target), clean, 1.4b"),
        ("something_else", "something else"),
    ],
)
def test_numbers_have_names_in_words(quantity: str, said: str) -> None:
    assert words(quantity) == said
