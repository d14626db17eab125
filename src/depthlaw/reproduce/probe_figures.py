"""Fig. 2a to 2d: what the blocks of language models do to their tokens, one panel a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from depthlaw.plots.probe import draw_angles, draw_lens, layer_curve
from depthlaw.plots.style import figure, rendered
from depthlaw.plots.trajectories import draw_plane, draw_trajectories
from depthlaw.probe.findings import sentences
from depthlaw.probe.summary import SUMMARY_UNITS
from depthlaw.reproduce import probe_corrections as defects
from depthlaw.reproduce import probe_words as words
from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.outcome import Comparison, Correction, Outcome, OutcomeFigure, OutcomeTable, compare
from depthlaw.reproduce.paper import published
from depthlaw.reproduce.probe_inputs import LAYERS, Choice
from depthlaw.reproduce.probe_runs import Probed, described, probed
from depthlaw.reproduce.registry import Scale, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PUBLISHED = LAYERS[0].rpartition("/")[2]
"""The model whose numbers the paper gives."""


@dataclass(frozen=True)
class Panel:
    """What makes one of the figures.

    Attributes
    ----------
    draw
        One model into one panel.
    compared, corrected, said
        Numbers beside the published ones, known defects and statements of one model.
    table
        What is drawn, of all models, with the unit of every column.
    """

    draw: Callable[[Axes, Probed], object]
    compared: Callable[[Probed], Sequence[Comparison]]
    corrected: Callable[[Probed], Sequence[Correction]]
    said: Callable[[Probed], Sequence[str]]
    table: Callable[[Sequence[Probed]], OutcomeTable]


def run(name: str, choice: Choice, scale: Scale) -> Outcome:
    """Make a figure of the models that can be had; one pass over the text serves all of them."""
    title, panel = select([name])[0].title, PANELS[name]
    probes, missing = probed(choice, scale)
    notices = (*choice.missing, *missing)
    if not probes:
        return Outcome(name, title, "", skipped="none of the models can be probed", notices=notices)
    with figure(len(probes)) as (made, axes):
        for ax, probe in zip(axes, probes, strict=True):
            panel.draw(ax, probe)
            legend = ax.get_legend()
            (legend or ax).set_title(probe.name)
        files = rendered(made, name)
    return Outcome(
        name,
        title,
        described(probes),
        comparisons=tuple(row for probe in probes for row in panel.compared(probe)),
        corrections=tuple(row for probe in probes for row in panel.corrected(probe)),
        statements=tuple(f"{probe.name}: {line}" for probe in probes for line in panel.said(probe)),
        figures={name: OutcomeFigure(files, caption(name), (f"{name}.parquet",))},
        tables={f"{name}.parquet": panel.table(probes)},
        notices=notices,
    )


def _draw_states(ax: Axes, probe: Probed) -> None:
    found, sample = probe.trajectories
    has_normed = "theta_state_normed" in probe.result.quantities
    last = float(probe.result.layers("theta_state_normed")[0]) if has_normed else None
    draw_trajectories(ax, found, theta=sample.theta_state, normed_last=last)


def _compare_states(probe: Probed) -> list[Comparison]:
    theta, error = (probe.result.layers("paper_theta_state", which) for which in ("mean", "stderr"))
    middle = probe.result.middle("paper_theta_state")
    spread = float(probe.result.layers("theta_middle", "stderr")[0])
    return [
        _beside("fig2a", "theta_first", probe, float(theta[0]), float(error[0])),
        _beside("fig2a", "theta_last", probe, float(theta[-1]), float(error[-1])),
        _beside("fig2a", "theta_middle", probe, middle, spread, note="drawn, not measured"),
    ]


def _compare_share(probe: Probed) -> list[Comparison]:
    early = probe.trajectories[0].early
    if early is None:
        return [_beside("fig2b", "early_share", probe, None, None, note="no second cluster is supported")]
    return [_beside("fig2b", "early_share", probe, early.share.value, early.share.stderr)]


def _compare_updates(probe: Probed) -> list[Comparison]:
    theta, error = (
        probe.result.layers("paper_theta_update", which)[1:-1].mean() for which in ("mean", "stderr")
    )
    # The error of a mean is at most the mean of the errors.
    return [_beside("fig2c", "theta_update", probe, float(theta), float(error))]


def _beside(
    experiment: str,
    quantity: str,
    probe: Probed,
    ours: float | None,
    error: float | None,
    *,
    note: str = "",
) -> Comparison:
    """Hold a number by the published numerics against the paper's, which is of one model.

    Parameters
    ----------
    note
        Why the two cannot be compared, if so.
    """
    theirs, label = published(experiment)[quantity], f"{probe.name}: {quantity}"
    if ours is None or error is None or note or not probe.candidate.own or probe.name != PUBLISHED:
        return compare(label, theirs, ours, error, note=note, comparable=False)
    # Published in words or with one digit: in errors of ours the difference would say nothing.
    return compare(label, theirs, ours, note=f"± {error:.2g} over documents")


def _layers_of(*quantities: str) -> Callable[[Sequence[Probed]], OutcomeTable]:
    """Rows of the summaries about some quantities."""

    def table(probes: Sequence[Probed]) -> OutcomeTable:
        parts = []
        for probe in probes:
            summary = probe.result.summary
            rows = summary.filter(pc.is_in(summary["quantity"], value_set=pa.array(quantities)))
            parts.append(rows.add_column(0, "model", pa.array([probe.name] * len(rows))))
        return OutcomeTable(pa.concat_tables(parts), {"model": "1", **SUMMARY_UNITS})

    return table


_POINT_UNITS = {
    "model": "1", "document": "1", "position": "tokens", "is_first": "1",
    "component_1": "rad", "component_2": "rad", "early": "1",
}  # fmt: skip


def _points(probes: Sequence[Probed]) -> OutcomeTable:
    """The sampled tokens in the plane of the components, and how likely each is an early stopper."""
    parts = []
    for probe in probes:
        found, sample = probe.trajectories
        plane = np.zeros((len(found.points), 2))
        plane[:, : found.points.shape[1]] = found.points[:, :2]
        columns: Mapping[str, object] = {
            "model": [probe.name] * len(plane), "document": sample.document, "position": sample.position,
            "is_first": sample.is_first, "component_1": plane[:, 0], "component_2": plane[:, 1],
            "early": found.probability,
        }  # fmt: skip
        parts.append(pa.table(columns))
    return OutcomeTable(pa.concat_tables(parts), _POINT_UNITS)


def _draw_lens(ax: Axes, probe: Probed) -> None:
    ours, theirs = (layer_curve(probe.result, name) for name in ("lens_ce", "paper_lens_ce"))
    draw_lens(ax, ours, unmasked=None if np.array_equal(ours.mean, theirs.mean) else theirs)


def _draw_plane(ax: Axes, probe: Probed) -> None:
    found, _ = probe.trajectories
    if found.points.shape[1] > 1:
        draw_plane(ax, found)


PANELS: Mapping[str, Panel] = {
    "fig2a": Panel(
        draw=_draw_states,
        compared=_compare_states,
        corrected=lambda p: (defects.normed_state(p), *defects.coarse_angles(p), defects.first_tokens(p)),
        said=lambda p: (*sentences(p.result, "ends"), *words.normed(p.result), *words.halves(p.result)),
        table=_layers_of("theta_state", "paper_theta_state", "theta_state_normed"),
    ),
    "fig2b": Panel(
        draw=_draw_plane,
        compared=_compare_share,
        corrected=lambda p: (defects.first_tokens_among_early(p),),
        said=lambda p: (*sentences(p.result, "early"), *words.halves(p.result)),
        table=_points,
    ),
    "fig2c": Panel(
        draw=lambda ax, p: draw_angles(ax, layer_curve(p.result, "theta_update")),
        compared=_compare_updates,
        corrected=lambda p: (defects.normed_update(p), defects.first_tokens(p, "theta_update")),
        said=lambda p: sentences(p.result, "updates"),
        table=_layers_of("theta_update", "paper_theta_update"),
    ),
    "fig2d": Panel(
        draw=_draw_lens,
        compared=lambda p: (),
        corrected=lambda p: (defects.padding_mask(p),),
        said=lambda p: sentences(p.result, "lens"),
        table=_layers_of("lens_ce", "paper_lens_ce"),
    ),
}
