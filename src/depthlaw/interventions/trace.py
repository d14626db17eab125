"""Causal tracing of one or many prompts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from depthlaw.data.config import replaced, to_dict
from depthlaw.data.store import Run, found_once, open_run
from depthlaw.errors import InputError, Notice, UsageError
from depthlaw.interventions.cells import cells_of, reads_of
from depthlaw.interventions.corruption import draw, embeddings, spread
from depthlaw.interventions.grouping import batch_tokens, in_groups
from depthlaw.interventions.groups import LEAST_DAMAGE, is_damaged
from depthlaw.interventions.invariants import assert_invariants, tokens_needed
from depthlaw.interventions.noise import Noise, parse_noise
from depthlaw.interventions.passes import run_passes
from depthlaw.interventions.positions import Placed, place
from depthlaw.interventions.prompts import Prompt, read_prompts
from depthlaw.interventions.trace_config import TraceConfig
from depthlaw.interventions.trace_result import TraceResult
from depthlaw.interventions.trace_table import CELL_UNITS, PROMPT_UNITS, cell_table, prompt_table
from depthlaw.interventions.tracing import restore
from depthlaw.models import LanguageModel
from depthlaw.models.opening import identity_of_weights, language_model, recorded
from depthlaw.models.sublayers import Sublayers, find_sublayers

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[float, int], None]
"""Called after every batch with the prompts done so far, counted in parts, and all of them."""


def causal_trace(
    model: Any,
    prompts: str | Path | Prompt | Sequence[Prompt],
    subject: str | None = None,
    target: str | None = None,
    *,
    config: TraceConfig | None = None,
    out: str | Path | None = None,
    resume: bool = True,
    progress: Progress | None = None,
    finish: Callable[[Run, TraceResult], None] | None = None,
    **settings: Any,
) -> TraceResult:
    """Corrupt a subject, restore one state at a time, and read what brings the target back.

    Parameters
    ----------
    model
        What `depthlaw.load_model` takes, a `LanguageModel`, or a model of transformers in memory.
    prompts
        The text of a prompt, with ``subject`` and ``target``; a `Prompt` or several; or, without subject and
        target, the path of a file of prompts.
    config, settings
        A `TraceConfig`, and fields of it by name that override it.
    out
        Run folder; the same call continues a trace that was killed.
    resume
        ``False`` starts over in ``out``.
    finish
        What else to write into the folder before the run counts as done.

    Raises
    ------
    InputError
        When a model, file or prompt cannot be used, or an invariant does not hold on this model.
    UsageError
        For settings that cannot be meant.
    """
    config = replaced(TraceConfig, config, settings)
    chosen = as_prompts(prompts, subject, target)[: config.limit]
    lm = language_model(model, config)
    placed = place_all(lm, chosen, config)
    if out is None:
        return _trace(lm, placed, config, None, progress)
    with open_run(
        out,
        verb="trace",
        config=config,
        identity={
            "model": identity_of_weights(lm),
            "prompts": [dataclasses.asdict(prompt) for prompt in chosen],
        },
        units=CELL_UNITS | PROMPT_UNITS,
        **recorded(lm),
        resume=resume,
    ) as run:
        result = _trace(lm, placed, config, run, progress)
        if not run.complete:
            run.write_table("cells.parquet", result.cells)
            run.write_table("prompts.parquet", result.prompts)
            if finish is not None:
                finish(run, result)
        return result


def place_all(lm: LanguageModel, prompts: Sequence[Prompt], config: TraceConfig) -> list[Placed]:
    """Find subjects and targets of prompts among their tokens.

    Raises
    ------
    InputError
        When one of them cannot be placed, or has more tokens than the model has positions for.
    """
    placed = [place(prompt, lm.tokenizer) for prompt in prompts]
    for p in placed:
        needed = tokens_needed(p, reads_of(p, config.read)[-1])
        if lm.context is not None and needed > lm.context:
            name = f"{p.prompt.id}: " if p.prompt.id else ""
            raise InputError(
                f"{name}the prompt has {needed} tokens up to its target; {lm.name} takes {lm.context}.",
                "Shorten it: what is cut off cannot be traced.",
            )
    return placed


def as_prompts(
    prompts: str | Path | Prompt | Sequence[Prompt], subject: str | None, target: str | None
) -> tuple[Prompt, ...]:
    """Return prompts from whatever `causal_trace` takes.

    Raises
    ------
    UsageError
        When subject or target are missing, or given twice.
    """
    if isinstance(prompts, Prompt):
        return (prompts,)
    if not isinstance(prompts, str | Path):
        if not prompts:
            raise UsageError("there are no prompts.")
        return tuple(prompts)
    if subject is None and target is None:
        return read_prompts(prompts)
    if subject is None or target is None:
        raise UsageError("a prompt needs a subject and a target.")
    return (Prompt(str(prompts), subject, target),)


def _trace(
    lm: LanguageModel,
    placed: Sequence[Placed],
    config: TraceConfig,
    run: Run | None,
    progress: Progress | None,
) -> TraceResult:
    import pyarrow as pa

    sublayers = find_sublayers(lm) if set(config.restore) - {"block"} else None
    noise = parse_noise(config.noise)
    clean = [embeddings(lm, p.ids)[slice(*p.subject)] for p in placed]
    unit = spread(clean) if noise.scaled else math.nan
    # Which prompts go together depends on it: a trace that goes on elsewhere keeps what it began with.
    tokens = found_once(run, "batch_tokens", lambda: batch_tokens(lm.device.type))
    groups = in_groups(placed, config, tokens)
    done, tables = 0, []

    def tell(before: int, running: int, share: float) -> None:
        if progress is not None:
            progress(before + running * share, len(placed))

    for number, (members, rows) in enumerate(groups):
        part = _kept(run, number, members)
        if part is None:
            drawn = [_draw(lm, noise, clean, unit, config, member) for member in members]
            part = _group(
                lm, [placed[m] for m in members], members, drawn, rows, config, sublayers,
                partial(tell, done, len(members)),
            )  # fmt: skip
            if run is not None and not run.complete:
                for name, table in zip(("cells", "prompts"), part, strict=True):
                    run.write_table(f"parts/{number:05d}-{name}.parquet", table)
        tables.append(part)
        done += len(members)
        tell(done, 0, 0.0)
    cells, prompts = (pa.concat_tables(parts).sort_by("prompt") for parts in zip(*tables, strict=True))
    return TraceResult(
        model=lm.name,
        depth=lm.depth,
        dtype=lm.dtype_name,
        noise=noise.words(unit),
        unit=unit,
        samples=config.samples,
        settings=to_dict(config),
        cells=cells,
        prompts=prompts,
        notices=_notices(placed, prompts, config),
    )


def _group(
    lm: LanguageModel,
    group: Sequence[Placed],
    members: Sequence[int],
    drawn: Sequence[Tensor],
    rows: int,
    config: TraceConfig,
    sublayers: Sublayers | None,
    tell: Callable[[float], None],
) -> tuple[pa.Table, pa.Table]:
    length = max(tokens_needed(p, reads_of(p, config.read)[-1]) for p in group)
    passes = run_passes(lm, group, drawn, (rows, length), config.read, config.restore, sublayers)
    worst = assert_invariants(lm, passes, group, config.restore, sublayers)
    cells = [
        cell
        for number, p in enumerate(group)
        for cell in cells_of(number, p, lm.depth, config.restore, config.window, config.span, config.read)
    ]
    restored = restore(lm, passes, cells, sublayers, tell=tell)
    return cell_table(restored, members), prompt_table(group, members, passes, worst, restored.rows)


def _draw(
    lm: LanguageModel,
    noise: Noise,
    clean: Sequence[Tensor],
    unit: float,
    config: TraceConfig,
    member: int,
) -> Tensor:
    others: list[Tensor] = []
    if noise.kind == "other":
        others = [embeddings(lm, _ids_of_other(lm, text)) for text in config.other] or [
            subject for number, subject in enumerate(clean) if number != member
        ]
    return draw(noise, clean[member], unit, config.samples, config.seed, member, others)


def _ids_of_other(lm: LanguageModel, text: str) -> list[int]:
    ids: list[int] = lm.tokenizer(text, add_special_tokens=False)["input_ids"]
    if not ids:
        raise UsageError(f'--other "{text}" has no tokens.', "Name a subject whose embeddings to take.")
    return ids


def _kept(run: Run | None, number: int, members: Sequence[int]) -> tuple[pa.Table, pa.Table] | None:
    """Return what a run keeps of a group; ``None`` when that is nothing, or of other prompts."""
    names = [f"parts/{number:05d}-{name}.parquet" for name in ("cells", "prompts")]
    if run is None or not all(map(run.done, names)):
        return None
    import pyarrow.parquet as pq

    cells, prompts = (pq.read_table(run.folder / name) for name in names)
    there = [set(table["prompt"].to_pylist()) for table in (cells, prompts)]
    return (cells, prompts) if there == [set(members)] * 2 else None


def _notices(placed: Sequence[Placed], prompts: pa.Table, config: TraceConfig) -> tuple[Notice, ...]:
    said = [notice for p in placed for notice in p.notices]
    if config.read == "first" and (many := sum(len(p.target) > 1 for p in placed)):
        which = "the target has" if len(placed) == 1 else f"{many} of {len(placed)} targets have"
        message = f"{which} several tokens; the first is read (--read all for all of them)."
        said.append(Notice("target-tokens", message))
    names = ("p_clean", "p_corrupt", "p_corrupt_stderr")
    if idle := sum(not is_damaged(*(row[name] for name in names)) for row in prompts.to_pylist()):
        where = "" if len(placed) == 1 else f"in {idle} of {len(placed)} prompts "
        little = f"does not lower the target's probability by {LEAST_DAMAGE} and by twice its error"
        message = f"{where}the noise {little}: no groups."
        said.append(Notice("no-damage", message))
    if config.samples < 2:
        said.append(Notice("samples", "one draw: no standard errors."))
    return tuple(said)
