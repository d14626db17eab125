"""Fig. 6: which states bring "Seattle" back when the subject is corrupted, over model sizes.

The Pythia sizes of the paper; where the hub cannot be
reached, whatever model is on this machine, without comparison. Our numbers differ from the paper's by design:
ten seeded draws instead of one unseeded, noise scaled to the embedding output of the subject instead of the
whole matrix, all rows in one batch shape.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from depthlaw.errors import InputError
from depthlaw.hub import kept_by_the_hub, why_not_reachable
from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.outcome import Comparison, Outcome, OutcomeFigure, OutcomeTable, compare
from depthlaw.reproduce.paper import published
from depthlaw.reproduce.probe_inputs import Candidate, named, own
from depthlaw.reproduce.registry import Scale
from depthlaw.reproduce.stand_in import local_model

if TYPE_CHECKING:
    from depthlaw.interventions.trace_result import TraceResult

TITLE = "Causal tracing: an early group of states at the subject, a late one at the last token"
PROMPT = ("The Space Needle is in downtown Seattle", "Space Needle", "Seattle")
PAPER_PROMPT = ("the space needle is in downtown", "space needle", "Seattle")
"""Prompt, subject and target; the reference writes them in lower case, and reads " Seattle"."""
PYTHIA = {
    "smoke": (),
    "small": ("70m", "160m"),
    "paper": ("70m", "160m", "1b", "1.4b", "2.8b", "12b"),
}
SAMPLES = {"smoke": 2, "small": 10, "paper": 10}


def run(scale: Scale) -> Outcome:
    """Trace the needle prompt on the models of the scale that can be had."""
    if missing := [name for name in ("torch", "transformers") if not importlib.util.find_spec(name)]:
        why = f"{' and '.join(missing)} not installed: pip install 'depthlaw[llm]'"
        return Outcome("fig6", TITLE, "", skipped=why)
    traces, notices = _published_sizes(scale)
    published_sizes = dict(traces)
    if not traces and (place := local_model()) is not None:
        traces[place.name] = _trace(str(place), PROMPT, scale)
        notices.append(
            f"{place.name} instead of the Pythia models: no published number is comparable with its own."
        )
    if not traces:
        why = "no Pythia model can be loaded, and $DEPTHLAW_MODELS and the cache hold no model"
        return Outcome("fig6", TITLE, "", skipped=why, notices=tuple(notices))
    rows: list[Comparison] = []
    theirs = published("fig6")
    for size, found in published_sizes.items():
        name = size.replace(".", "_")
        (row,) = found.rows
        rows.append(compare(f"p_clean_{name}", theirs[f"p_clean_{name}"], row["p_clean"]))
        # Relative, as the published value is one draw of another noise: in our errors it would say nothing.
        note = f"± {row['p_corrupt_stderr']:.2g} over draws; published: one draw of weaker noise"
        rows.append(compare(f"p_corrupt_{name}", theirs[f"p_corrupt_{name}"], row["p_corrupt"], note=note))
    return Outcome(
        "fig6",
        TITLE,
        f'"{next(iter(traces.values())).rows[0]["text"]}" on {", ".join(traces)}',
        comparisons=tuple(rows),
        statements=tuple(line for found in traces.values() for line in statements(found)),
        figures={
            f"fig6_{name}": OutcomeFigure(
                _figure(found, f"fig6_{name}"),
                f"{Path(found.model).name}: {caption('fig6')}",
                (f"fig6_{name}_cells.parquet",),
            )
            for name, found in traces.items()
        },
        tables=_tables(traces),
        notices=tuple(notices),
    )


def _published_sizes(scale: Scale) -> tuple[dict[str, TraceResult], list[str]]:
    """Trace the sizes of a scale that can be had; also say of the others why not.

    One size that fails, for want of memory say, says nothing about the others. Only what keeps one model of
    the hub away, slowly perhaps, keeps the others away too.
    """
    traces: dict[str, TraceResult] = {}
    missing: dict[str, list[str]] = {}
    hub = ""
    for size, candidate in _pythia(scale):
        remote = candidate is None or not Path(candidate.place).exists()
        why = hub if remote else ""
        if not why and candidate is None:
            why = hub = why_not_reachable()
        elif not why and candidate is not None:
            try:
                traces[size] = _trace(candidate.place, PAPER_PROMPT, scale)
            except (InputError, MemoryError, RuntimeError) as error:  # torch has no memory by a RuntimeError
                said = error.message if isinstance(error, InputError) else str(error)
                why = (said.strip() or type(error).__name__).splitlines()[0]
                if remote and kept_by_the_hub(candidate.place) is None:
                    hub = why  # it never came
        if why:
            missing.setdefault(why, []).append(f"pythia-{size}")
    return traces, [f"{', '.join(names)}: {why}" for why, names in missing.items()]


def identity(scale: Scale) -> str:
    """Tell what would be traced from anything else."""
    theirs = [candidate for _, candidate in _pythia(scale) if candidate is not None]
    place = None if theirs else local_model()
    return named(theirs if place is None else [Candidate(place.name, str(place), own=False)])


def _pythia(scale: Scale) -> list[tuple[str, Candidate | None]]:
    """The sizes of a scale, each with where it can be had."""
    return [(size, own(f"EleutherAI/pythia-{size}")) for size in PYTHIA[scale]]


def statements(found: TraceResult) -> list[str]:
    """What a trace shows, in sentences with numbers."""
    (row,) = found.rows
    name = Path(found.model).name
    said = [
        f"{name}: p(Seattle) {row['p_clean']:.3g} clean, {row['p_corrupt']:.3g} ± "
        f"{row['p_corrupt_stderr']:.2g} corrupted ({found.noise}, {found.samples} draws)."
    ]
    for group in found.groups():
        word = row["words"][group.token].strip()
        said.append(
            f"{name}: a group at [{word}], l/ℓ {group.low:.2f} to {group.high:.2f}: effect {group.mean:.3g} "
            f"on average, {group.peak:.3g} at most"
            + (f", fluctuation {group.fluctuation:.2g}." if group.last > group.first else ".")
        )
    highest = float(found.map().max())
    if highest > row["p_clean"]:
        said.append(f"{name}: the best restored state gives {highest:.3g}, above the clean run.")
    return said


def _trace(model: str, prompt: tuple[str, str, str], scale: Scale) -> TraceResult:
    from depthlaw.interventions.trace import causal_trace

    return causal_trace(model, *prompt, samples=SAMPLES[scale])


def _figure(found: TraceResult, name: str) -> dict[str, bytes]:
    from depthlaw.plots.style import figure, rendered
    from depthlaw.plots.trace import draw_map

    (row,) = found.rows
    values = found.map()
    with figure(size=(4.6, 2.6)) as (made, axes):
        draw_map(
            axes[0],
            values,
            row["words"][: values.shape[1]],
            subject=(row["subject_first"], row["subject_end"]),
            clean=row["p_clean"],
            corrupted=row["p_corrupt"],
            label="p(Seattle)",
        )
        return rendered(made, name)


def _tables(traces: dict[str, TraceResult]) -> dict[str, OutcomeTable]:
    from depthlaw.interventions.trace_table import CELL_UNITS, PROMPT_UNITS

    tables: dict[str, OutcomeTable] = {}
    for name, found in traces.items():
        tables[f"fig6_{name}_cells.parquet"] = OutcomeTable(found.cells, CELL_UNITS)
        tables[f"fig6_{name}_prompts.parquet"] = OutcomeTable(found.prompts, PROMPT_UNITS)
    return tables
