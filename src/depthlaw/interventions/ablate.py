"""One pass over a text: every batch once through the intact model, then through every plan."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from depthlaw.data.config import replaced
from depthlaw.data.store import Run, found_once, open_run
from depthlaw.data.text.batch import Batch
from depthlaw.data.text.batches import Batching, read_batches
from depthlaw.data.text.limit import read_more
from depthlaw.data.text.source import TextSource
from depthlaw.errors import InputError, Notice
from depthlaw.interventions.ablate_config import AblateConfig
from depthlaw.interventions.ablation import DOCUMENT_UNITS, PLAN_UNITS, Ablation
from depthlaw.interventions.criteria import CriteriaSums, first_nonfinite, shuffled
from depthlaw.interventions.generators import expand_plans
from depthlaw.interventions.plan import Plan
from depthlaw.interventions.scores import score
from depthlaw.models import LanguageModel
from depthlaw.models.opening import identity_of_weights, language_model, recorded

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[float, int], None]
"""Called with the documents and the tokens done so far; a batch counts by the plans that have run."""

_BATCH_TOKENS = {"cpu": 2048}
_BATCH_TOKENS_ELSEWHERE = 16_384


def ablate(
    model: Any,
    text: Any,
    *,
    config: AblateConfig | None = None,
    out: str | Path | None = None,
    resume: bool = True,
    progress: Progress | None = None,
    finish: Callable[[Run, Ablation], None] | None = None,
    **settings: Any,
) -> Ablation:
    """Run a language model with its blocks in other orders, and measure what that costs.

    Parameters
    ----------
    model
        What `depthlaw.load_model` takes, a `LanguageModel`, or a model of transformers in memory.
    text
        What `depthlaw.data.text.opening.open_text` takes: a file, a folder, ``hf:org/name``, a list of texts.
    config, settings
        An `AblateConfig`, and fields of it by name that override it.
    out
        Run folder; the same call continues a pass that was killed.
    resume
        ``False`` starts over in ``out``.
    finish
        What else to write into the folder before the run counts as done.

    Raises
    ------
    InputError
        When model or text cannot be used.
    UsageError
        For plans or settings that cannot be meant.
    """
    config = replaced(AblateConfig, config, settings)
    lm = language_model(model, config)
    plans = expand_plans(config.texts, lm.depth, samples=config.samples, seed=config.seed)
    source = config.open(text)
    if out is None:
        return _pass(lm, source, plans, config, None, progress)
    with open_run(
        out,
        verb="ablate",
        config=config,
        identity={"model": identity_of_weights(lm), "text": source.identity},
        units=PLAN_UNITS | {name: unit for name, unit in DOCUMENT_UNITS.items() if name not in PLAN_UNITS},
        **recorded(lm),
        resume=resume,
    ) as run:
        result = _pass(lm, source, plans, config, run, progress)
        if not run.complete:
            run.write_table("documents.parquet", result.documents)
            run.write_table("plans.parquet", result.to_table())
            if finish is not None:
                finish(run, result)
        return result


def rows_of(lm: LanguageModel, config: AblateConfig, run: Run | None) -> int:
    """Rows of a batch; a run that goes on elsewhere keeps those it began with."""
    if isinstance(config.batch_size, int):
        return config.batch_size
    most = _BATCH_TOKENS.get(lm.device.type, _BATCH_TOKENS_ELSEWHERE)
    return found_once(run, "batch_size", lambda: max(1, most // length_of(lm, config)))


def length_of(lm: LanguageModel, config: AblateConfig) -> int:
    """Tokens of a row at most: no more than the model has positions for."""
    return min(config.max_length, lm.context or config.max_length)


def _pass(
    lm: LanguageModel,
    source: TextSource,
    plans: Sequence[Plan],
    config: AblateConfig,
    run: Run | None,
    progress: Progress | None,
) -> Ablation:
    import pyarrow as pa

    rows, length = rows_of(lm, config, run), length_of(lm, config)
    batching = Batching(batch_size=rows, max_length=length, bos=config.bos)
    tables: list[pa.Table] = []
    criteria: CriteriaSums | None = None
    tokens = documents = 0

    def tell(inside: int, batch: Batch, share: float) -> None:
        if progress is not None:
            progress(documents + share * inside, tokens + round(share * batch.n_tokens))

    for number, batch in enumerate(read_batches(source, lm.tokenizer, batching, limit=config.stop)):
        if not batch.has_successor.any():
            continue
        inside = len(np.unique(batch.document[batch.has_successor]))
        found = _kept(run, number, batch)
        if found is None:
            found = _measure(lm, batch, plans, config.seed, partial(tell, inside, batch))
            if run is not None and not run.complete:
                _keep(run, number, *found)
        tables.append(found[0])
        criteria = found[1] if criteria is None else criteria.merge(found[1])
        tell(inside, batch, 1.0)
        documents += inside
        tokens += batch.n_tokens
    said = []
    if length < config.max_length:
        cut = f"documents are cut at {lm.context} tokens, the model's context, not at {config.max_length}."
        said.append(Notice("context", cut))
    if criteria is None:
        raise InputError(f"{source.name}: no document has two tokens, so that there is nothing to measure.")
    if not criteria.tokens:
        raise InputError(
            f"{lm.name}: in {lm.dtype_name} no token has finite states and a finite prediction.",
            "--dtype bfloat16 and float32 hold larger numbers than float16.",
        )
    return Ablation(
        model=lm.name,
        text=source.name,
        depth=lm.depth,
        dtype=lm.dtype_name,
        plans=tuple(plans),
        documents=pa.concat_tables(tables),
        criteria=criteria,
        depth_law=config.depth_law,
        drop=config.drop,
        reading=(*said, *read_more(config.stop, tokens)),
    )


@torch.no_grad()
def _measure(
    lm: LanguageModel, batch: Batch, plans: Sequence[Plan], seed: int, tell: Callable[[float], None]
) -> tuple[pa.Table, CriteriaSums]:
    import pyarrow as pa

    counted = torch.from_numpy(batch.has_successor).to(lm.device)
    ids = lm.tokens(batch.input_ids, batch.attention_mask)
    trace = lm.capture(ids)
    targets = ids.ids.roll(-1, dims=1)[counted]
    scores = score(lm, trace, plans, counted, targets, lambda ran: tell(ran / len(plans)))
    states = [state[counted] for state in trace.states]
    first = first_nonfinite(states, scores.intact)
    # By the intact model alone: all plans are measured on the same tokens.
    good = first > len(states)
    lost = np.bincount(first[~good], minlength=len(states) + 1).astype(np.float64)
    criteria = CriteriaSums.of(shuffled(states, good, seed), lost)
    known, place, counts = np.unique(
        batch.document[batch.has_successor][good], return_inverse=True, return_counts=True
    )

    def sums(values: torch.Tensor) -> np.ndarray:
        """(plans or 1, tokens) → (documents, plans or 1); NaN where a plan's prediction is not finite."""
        table = values.reshape(-1, len(good)).double().cpu().numpy()[:, good]
        table = np.where(np.isfinite(table), table, np.nan)
        found = [np.bincount(place, row, minlength=len(known)) for row in table]
        # Without a token there is nothing to tell that these are sums of numbers.
        return np.stack(found, axis=1).astype(np.float64)

    shape = (len(known), len(plans))
    table = {
        "plan": np.broadcast_to(np.arange(len(plans)), shape),
        "document": np.broadcast_to(known[:, None], shape),
        "tokens": np.broadcast_to(counts[:, None], shape),
        "intact_sum": np.broadcast_to(sums(scores.intact), shape),
        "delta_ce_sum": sums(scores.cross_entropy - scores.intact),
        "kl_sum": sums(scores.divergence),
        "agree_sum": sums(torch.where(scores.cross_entropy.isfinite(), scores.agrees.double(), math.nan)),
    }
    return pa.table({name: column.ravel() for name, column in table.items()}), criteria


def _keep(run: Run, number: int, table: pa.Table, criteria: CriteriaSums) -> None:
    from safetensors.numpy import save

    # The table last: it tells of which documents both are.
    run.write_bytes(f"parts/{number:05d}.safetensors", save(criteria.arrays()))
    run.write_table(f"parts/{number:05d}.parquet", table)


def _kept(run: Run | None, number: int, batch: Batch) -> tuple[pa.Table, CriteriaSums] | None:
    """Return what a run keeps of a batch; ``None`` when that is nothing, or of other documents."""
    names = [f"parts/{number:05d}.{ending}" for ending in ("parquet", "safetensors")]
    if run is None or not all(map(run.done, names)):
        return None
    import pyarrow.parquet as pq
    from safetensors.numpy import load

    table = pq.read_table(run.folder / names[0])
    try:
        criteria = CriteriaSums.from_arrays(load((run.folder / names[1]).read_bytes()))
    except InputError:  # written by an earlier version
        return None
    first = table["plan"].to_numpy() == 0
    kept = zip(*(table[name].to_numpy()[first].tolist() for name in ("document", "tokens")), strict=True)
    counts = Counter(batch.document[batch.has_successor].tolist())
    counts.subtract(dict(kept))
    # What is missing was left out: its states are not finite.
    same = min(counts.values()) >= 0 and sum(counts.values()) == criteria.nonfinite.sum()
    return (table, criteria) if same else None
