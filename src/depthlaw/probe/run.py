"""One pass of a model over a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.data.config import replaced, to_dict
from depthlaw.data.store import Run, found_once, open_run
from depthlaw.data.text.batch import Batch, Position
from depthlaw.data.text.batches import Batching, read_batches
from depthlaw.data.text.limit import read_more
from depthlaw.data.text.source import TextSource
from depthlaw.errors import InputError, Notice
from depthlaw.models import LanguageModel
from depthlaw.models.opening import identity_of_weights, language_model, recorded
from depthlaw.probe.config import ProbeConfig
from depthlaw.probe.gather import Gathered
from depthlaw.probe.keep import Keeper
from depthlaw.probe.measure import Measuring, see
from depthlaw.probe.memory import fitting_batch_size, give_back, likely_batch_size, out_of_memory
from depthlaw.probe.pairs import PAIR_UNITS, pairs_table
from depthlaw.probe.result import ProbeResult
from depthlaw.probe.seen import Observer, Seen
from depthlaw.probe.summary import SUMMARY_UNITS, Summary

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int, int], None]
"""Called after every batch with the documents and the tokens done so far."""


def probe(
    model: Any,
    text: Any,
    *,
    config: ProbeConfig | None = None,
    out: str | Path | None = None,
    resume: bool = True,
    observers: Sequence[Observer] = (),
    progress: Progress | None = None,
    finish: Callable[[Run, ProbeResult], None] | None = None,
    **settings: Any,
) -> ProbeResult:
    """Measure what the layers of a language model do to the tokens of a text, in one pass.

    Parameters
    ----------
    model
        What `load_model` takes, a `LanguageModel`, or a model of transformers in memory (its tokenizer is
        then looked up where it came from).
    text
        What `depthlaw.data.text.opening.open_text` takes: a file, a folder, ``hf:org/name``, a list of texts;
        or a source already open.
    config, settings
        A `ProbeConfig`, and fields of it by name that override it.
    out
        Run folder for tokens and summary; the same call continues a pass that was killed. ``None`` keeps
        everything in memory, and tokens only when ``tokens=True`` is said.
    resume
        ``False`` starts over in ``out``.
    observers
        What else to gather in the same pass.
    progress
        Told after every batch.
    finish
        What else to write into the folder before the run counts as done.

    Raises
    ------
    InputError
        When model or text cannot be used, or a layer gives nothing.
    UsageError
        For settings that cannot be meant.
    """
    if config is None:
        # Without a folder, tokens would fill the memory unasked.
        config = ProbeConfig(tokens=out is not None)
    config = replaced(ProbeConfig, config, settings)
    source = config.open(text)
    lm = language_model(model, config)
    if out is None:
        return _pass(lm, source, config, None, observers, progress)
    identity = {
        "model": identity_of_weights(lm),
        "text": source.identity,
        "observers": [observer.name for observer in observers],
    }
    with open_run(
        out,
        verb="probe",
        config=config,
        identity=identity,
        units=SUMMARY_UNITS,
        **recorded(lm),
        resume=resume,
    ) as run:
        result = _pass(lm, source, config, run, observers, progress)
        if finish is not None and not run.complete:
            finish(run, result)
        return result


def _pass(
    lm: LanguageModel,
    source: TextSource,
    config: ProbeConfig,
    run: Run | None,
    observers: Sequence[Observer],
    progress: Progress | None,
) -> ProbeResult:
    measuring = Measuring(config.reading, config.mode)
    max_length, notices = context(lm, config)
    rows = _batch_size(lm, config, max_length, measuring, run)
    summary, gathered = Summary(), Gathered()
    slow = config.reading != "none"
    keeper = Keeper(run, (summary, gathered, *observers), tokens=config.tokens, lens=slow)
    if run is None or not run.complete:
        batching = Batching(config.batching, batch_size=rows, max_length=max_length, bos=config.bos)
        batches = read_batches(source, lm.tokenizer, batching, limit=config.stop, start=keeper.position)
        # The position moves by whole windows of batches; people want to see that it goes on.
        tokens, window = keeper.position.tokens, set[int]()
        for batch in batches:
            keeper.take(see_in_parts(lm, batch, measuring), batch.after)
            give_back()
            tokens += batch.n_tokens
            window = {index for index in window | batch.documents.keys() if index >= batch.after.documents}
            if progress is not None:
                progress(batch.after.documents + len(window), tokens)
        keeper.finish(batches.position)
    if not summary.n_tokens:
        raise InputError(f"{source.name}: no document has two tokens, so that there is nothing to measure.")
    table = summary.table(lm.depth)
    if run is not None and not run.complete:
        run.write_table("summary.parquet", table)
        run.write_table("pairs.parquet", pairs_table(gathered), PAIR_UNITS)
    result = _result(lm, source, config, keeper, summary, table, gathered, notices, rows, max_length, run)
    if run is not None and not run.complete:
        run.write_json("result.json", described(result))
    return result


def see_in_parts(lm: LanguageModel, batch: Batch, measuring: Measuring) -> Seen:
    """Measure a batch; when memory runs out, measure its halves one after the other instead.

    Rows do not depend on each other, so that only rounding tells the difference.
    """
    try:
        return see(lm, batch, measuring)
    except Exception as error:
        size = len(batch.input_ids)
        if size == 1 or not out_of_memory(error):
            raise
    half = size // 2
    parts = [see_in_parts(lm, part, measuring) for part in (batch.rows(0, half), batch.rows(half, size))]
    return _joined(parts)


def described(result: ProbeResult) -> dict[str, Any]:
    """Return a result without its tables, for JSON."""
    kept = {
        field.name: getattr(result, field.name)
        for field in dataclasses.fields(result)
        if field.name not in ("summary", "gathered", "kept", "folder")
    }
    return kept


def _joined(parts: Sequence[Seen]) -> Seen:
    import torch

    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("document", "position", "token_id", "is_first", "is_special")
    }
    return dataclasses.replace(
        parts[0],
        states=tuple(torch.cat(layer) for layer in zip(*(part.states for part in parts), strict=True)),
        columns={name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns},
        documents={index: id for part in parts for index, id in part.documents.items()},
        **arrays,
    )


def context(lm: LanguageModel, config: ProbeConfig) -> tuple[int, tuple[Notice, ...]]:
    """Return how many tokens a row may have: no more than the model has positions for."""
    most = lm.context
    if most is None or most >= config.max_length:
        return config.max_length, ()
    said = f"documents are cut at {most} tokens, the model's context, not at {config.max_length}."
    return most, (Notice("context", said),)


def _batch_size(
    lm: LanguageModel, config: ProbeConfig, max_length: int, measuring: Measuring, run: Run | None
) -> int:
    """Resolve ``auto`` once; a resumed pass takes what the first one found."""
    if isinstance(config.batch_size, int):
        return config.batch_size

    def fitting() -> int:
        rows = likely_batch_size(lm, max_length, lens=measuring.lens != "none")
        if lm.device.type == "cpu":
            return rows
        # Where running out of memory can be survived, the worst batch is tried.
        return fitting_batch_size(rows, lambda n: see(lm, worst_batch(n, max_length), measuring))

    return found_once(run, "batch_size", fitting)


def worst_batch(rows: int, length: int) -> Batch:
    """Return a batch of full rows, of ids that any vocabulary has."""
    ids = np.tile(np.arange(length, dtype=np.int64) % 7, (rows, 1))
    return Batch(
        input_ids=ids,
        attention_mask=np.ones_like(ids),
        document=np.repeat(np.arange(rows, dtype=np.int64)[:, None], length, axis=1),
        position=np.tile(np.arange(length, dtype=np.int64), (rows, 1)),
        is_first=np.tile(np.arange(length) == 0, (rows, 1)),
        is_special=np.zeros(ids.shape, dtype=bool),
        documents={index: str(index) for index in range(rows)},
        after=Position(),
    )


def _result(
    lm: LanguageModel,
    source: TextSource,
    config: ProbeConfig,
    keeper: Keeper,
    summary: Summary,
    table: pa.Table,
    gathered: Gathered,
    notices: Iterable[Notice],
    rows: int,
    max_length: int,
    run: Run | None,
) -> ProbeResult:
    position = keeper.position
    checks = {name: _plain(value) for name, value in vars(lm.checks).items()}
    settings = {**to_dict(config), "batch_size": rows, "max_length": max_length}
    return ProbeResult(
        model=lm.name,
        text=source.name,
        text_identity=source.identity,
        depth=lm.depth,
        width=lm.width,
        dtype=checks["dtype"],
        device=checks["device"],
        settings=settings,
        checks=checks,
        n_documents=position.kept,
        n_empty=position.empty,
        n_cut=position.cut,
        n_tokens=position.tokens,
        n_counted=summary.n_tokens,
        summary=table,
        stopping=summary.stopping(),
        gathered=gathered,
        notices=(*notices, *read_more(config.stop, position.tokens), *_nonfinite(table)),
        folder=None if run is None else run.folder,
        kept=keeper.table() if run is None else None,
    )


def _nonfinite(table: Any) -> list[Notice]:
    """Say which layers had states that are not finite."""
    bad = {
        row["layer"]: row["nonfinite"]
        for row in table.to_pylist()
        if row["quantity"] == "norm_state" and row["tokens"] == "all" and row["nonfinite"]
    }
    if not bad:
        return []
    first = min(bad)
    said = f"states of {max(bad.values())} tokens are not finite from layer {first} on; they are left out."
    return [Notice("nonfinite", said)]


def _plain(value: Any) -> Any:
    return (
        value if isinstance(value, int | float | str) or value is None else str(value).removeprefix("torch.")
    )
