"""Fig. 2e: the mean angle in the middle against depth over models, with the fitted power."""

from __future__ import annotations

from depthlaw.laws.result import Estimate
from depthlaw.plots.probe import draw_family
from depthlaw.plots.style import figure, rendered
from depthlaw.probe.family import FAMILY_UNITS, Family, family
from depthlaw.probe.profile import profile_from_means, profile_of
from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.outcome import Correction, Outcome, OutcomeFigure, OutcomeTable, compare
from depthlaw.reproduce.paper import published
from depthlaw.reproduce.probe_inputs import Choice
from depthlaw.reproduce.probe_runs import described, probed
from depthlaw.reproduce.registry import Scale, select

_FEWEST = 3


def fig2e(choice: Choice, scale: Scale) -> Outcome:
    """Fit the middle angle against depth, by the published numerics and by ours."""
    title = select(["fig2e"])[0].title
    probes, missing = probed(choice, scale)
    depths = sorted({probe.result.depth for probe in probes})
    if len(depths) < _FEWEST:
        have = f"only {', '.join(map(str, depths))} blocks" if depths else "none"
        why = f"a power law over depths needs models of three depths at least, and {have} can be probed"
        return Outcome("fig2e", title, "", skipped=why, notices=(*choice.missing, *missing))
    ours = family([profile_of(probe.result) for probe in probes])
    theirs = family(
        [profile_from_means(probe.name, probe.result.layers("paper_theta_state")) for probe in probes]
    )
    comparable = all(probe.candidate.own for probe in probes)
    # Published as "about 1/ℓ": in errors of ours the difference would say nothing.
    error = None if comparable else theirs.beta.stderr
    note = f"± {theirs.beta.stderr:.2g} over models" if comparable and theirs.beta.stderr else ""
    row = compare(
        "beta", published("fig2e")["beta"], theirs.beta.value, error, note=note, comparable=comparable
    )
    with figure() as (made, axes):
        draw_family(axes[0], ours)
        files = rendered(made, "fig2e")
    return Outcome(
        "fig2e",
        title,
        described(probes),
        comparisons=(row,),
        corrections=_corrections(ours, theirs),
        statements=_statements(ours),
        figures={"fig2e": OutcomeFigure(files, caption("fig2e"), ("fig2e.parquet",))},
        tables={"fig2e.parquet": OutcomeTable(ours.to_table(), FAMILY_UNITS)},
        notices=(*choice.missing, *missing, *(notice.message for notice in ours.notices)),
    )


def _corrections(ours: Family, theirs: Family) -> tuple[Correction, ...]:
    (rest,) = (other for other in ours.sensitivity if other.definition.name == "rest")
    return (
        Correction(
            "The reference takes acos of bfloat16 cosines, which gives no angle between 0 and 0.088 rad (β).",
            theirs.beta.value,
            ours.beta.value,
        ),
        Correction(
            "In the reference, first tokens of documents enter every mean (β).",
            ours.beta.value,
            None if rest.beta is None else rest.beta.value,
        ),
    )


def _statements(found: Family) -> tuple[str, ...]:
    beta = found.beta
    if beta.value is None:
        return (f"The models do not determine how the middle angle falls with depth: {beta.reason}",)
    others = [
        f"{other.beta.value:.2f} ({other.definition.name})"
        for other in found.sensitivity
        if other.beta is not None and other.beta.value is not None
    ]
    return (
        f"The mean angle in the middle falls as depth^-{beta.value:.2f}{_interval(beta)} over "
        f"{len(found.profiles)} models, which differ in width and training too.",
        f"The exponent with other definitions of the middle: {', '.join(others)}.",
        f"Ends, apart from it: the first blocks turn the state by {found.first.min():.2f} to "
        f"{found.first.max():.2f} rad, the last by {found.last.min():.2f} to {found.last.max():.2f}.",
    )


def _interval(beta: Estimate) -> str:
    return "" if beta.interval is None else f" [{beta.interval[0]:.2f}, {beta.interval[1]:.2f}]"
