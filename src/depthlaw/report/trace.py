"""A causal trace as text, for programs, and as files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.interventions.trace_result import TOP
from depthlaw.plurals import counted
from depthlaw.report.text import number, table

if TYPE_CHECKING:
    from depthlaw.data.store import Run
    from depthlaw.interventions.groups import Group
    from depthlaw.interventions.trace_result import TraceResult

_FIGURES = 3
"""Prompts whose heat maps are drawn; all of them are in the tables."""


def trace_text(result: TraceResult) -> str:
    """What the runs gave, the strongest states, the groups, and the averages over prompts."""
    rows = result.rows
    lines = [
        f"{result.model}: {counted(result.depth, 'block')}, {result.dtype} · "
        f"{counted(len(rows), 'prompt')} · noise: {result.noise}, {counted(result.samples, 'draw')}",
        f"invariants hold: largest relative difference {worst(result):.1e}",
        "",
    ]
    text = "\n".join(lines) + "\n"
    text += "".join(_prompt_text(result, row) for row in rows) if len(rows) <= _FIGURES else _set_text(result)
    return text + "".join(f"note: {notice.message}\n" for notice in result.notices)


def worst(result: TraceResult) -> float:
    """Largest relative difference that an invariant showed."""
    return max(float(row["invariant_difference"]) for row in result.rows)


def _prompt_text(result: TraceResult, row: dict[str, Any]) -> str:
    shown = " ".join(
        f"[{word.strip()}{'*' if row['subject_first'] <= at < row['subject_end'] else ''}]"
        for at, word in enumerate(row["words"][: row["predict"] + 1])
    )
    text = (
        f"{shown} → [{row['target'].strip()}]   (* corrupted)\n"
        f"p(target): clean {number(row['p_clean'])} (rank {row['rank_clean']}), corrupted "
        f"{number(row['p_corrupt'], row['p_corrupt_stderr'])} "
        f"± {number(row['p_corrupt_stderr'], digits=2)}\n\n"
    )
    for kind in result.kinds:
        text += _kind_text(result, row, kind)
    return text


def _kind_text(result: TraceResult, row: dict[str, Any], kind: str) -> str:
    values, errors = (result.map(row["prompt"], kind, name) for name in ("probability", "probability_stderr"))
    tokens = result.map(row["prompt"], kind, "token")[0].astype(int)
    best = values.argmax(0)
    cells = [
        [
            row["words"][at].strip(),
            str(best[place]),
            f"{(best[place] + 1) / result.depth:.2f}",
            number(float(values[best[place], place])),
            number(float(errors[best[place], place]), digits=2),
        ]
        for place, at in enumerate(tokens)
        if at >= row["subject_first"]
    ]
    groups = result.groups(row["prompt"], kind)
    head = ["token", "best block", "l/ℓ", "p(target)", "±"]
    words = [row["words"][at].strip() for at in tokens]
    text = f"restored {kind} output\n{table(cells, head)}\n"
    return f"{text}{groups_text(groups, words)}\n" if result.damaged(row["prompt"]) else text


def groups_text(groups: Sequence[Group], words: Sequence[str]) -> str:
    """Functional groups, one line each."""
    if not groups:
        return "no state brings the target back.\n"
    rows = [
        [
            words[group.token],
            f"{group.first}-{group.last}" if group.last > group.first else str(group.first),
            f"{group.low:.2f}-{group.high:.2f}",
            number(group.mean, digits=3),
            number(group.peak, digits=3),
            number(group.fluctuation, digits=2),
        ]
        for group in groups
    ]
    head = ["group at", "blocks", "l/ℓ", "mean effect", "peak", "fluctuation"]
    return table(rows, head)


def _set_text(result: TraceResult) -> str:
    known = [row for row in result.rows if row["rank_clean"] <= TOP]
    text = f"target among the {TOP} most likely tokens in {len(known)} of {len(result.rows)} prompts\n\n"
    for kind in result.kinds:
        for known_only in (False, True):
            effects = result.effects(kind, known_only=known_only)
            if effects is None:
                continue
            who = f"target in the top {TOP}" if known_only else "all prompts"
            peak = effects.mean.argmax(1)
            rows = [
                [
                    role,
                    str(count),
                    str(block),
                    f"{(block + 1) / result.depth:.2f}",
                    number(float(effects.mean[place, block]), digits=3),
                    number(float(effects.half_width[place, block]), digits=2),
                ]
                for place, (role, count, block) in enumerate(
                    zip(effects.roles, effects.prompts.tolist(), peak.tolist(), strict=True)
                )
            ]
            head = ["token", "prompts", "best block", "l/ℓ", "effect", f"± ({effects.level:.0%})"]
            text += f"restored {kind} output, {who}\n{table(rows, head)}\n"
    return text


def trace_payload(result: TraceResult) -> dict[str, Any]:
    """The same for programs; the cells are in the run folder's table."""
    prompts = [
        {**row, "groups": {kind: list(result.groups(row["prompt"], kind)) for kind in result.kinds}}
        for row in result.rows
    ]
    averages = {
        kind: {
            name: result.effects(kind, known_only=only) for name, only in (("all", False), ("top_ten", True))
        }
        for kind in result.kinds
    }
    return {
        "model": result.model,
        "depth": result.depth,
        "dtype": result.dtype,
        "noise": {"words": result.noise, "unit": result.unit, "samples": result.samples},
        "settings": result.settings,
        "invariants": {"largest_relative_difference": worst(result)},
        "prompts": prompts,
        "effects": averages,
        "warnings": [{"code": n.code, "message": n.message, "rows": list(n.rows)} for n in result.notices],
    }


def write_trace(run: Run, result: TraceResult) -> None:
    """Write summary and figures into a run folder; the tables are there already."""
    run.write_json("result.json", trace_payload(result))
    run.write_text("trace.txt", trace_text(result))
    for files in trace_figures(result).values():
        for file, data in files.items():
            run.write_bytes(file, data)


def trace_figures(result: TraceResult) -> dict[str, dict[str, bytes]]:
    """Heat maps of the first prompts, and averages of several, as files by figure."""
    from depthlaw.plots.style import figure, rendered
    from depthlaw.plots.trace import draw_effects, draw_map

    figures = {}
    for kind in result.kinds:
        for row in result.rows[:_FIGURES]:
            values = result.map(row["prompt"], kind)
            tokens = result.map(row["prompt"], kind, "token")[0].astype(int)
            name = f"trace_{row['prompt']}_{kind}"
            with figure(size=(4.6, 0.7 + 0.24 * len(tokens) + 0.5)) as (made, axes):
                draw_map(
                    axes[0],
                    values,
                    [row["words"][at] for at in tokens],
                    subject=_columns(tokens, row["subject_first"], row["subject_end"]),
                    clean=row["p_clean"],
                    corrupted=row["p_corrupt"],
                    label=f"p({row['target'].strip()})",
                )
                figures[name] = rendered(made, name)
        effects = result.effects(kind) if len(result.rows) > 1 else None
        if effects is not None:
            with figure(size=(4.6, 3.2)) as (made, axes):
                draw_effects(axes[0], effects.mean, effects.half_width, effects.roles)
                figures[f"effects_{kind}"] = rendered(made, f"effects_{kind}")
    return figures


def _columns(tokens: np.ndarray, first: int, end: int) -> tuple[int, int]:
    inside = np.flatnonzero((tokens >= first) & (tokens < end))
    return int(inside[0]), int(inside[-1]) + 1
