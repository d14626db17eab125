"""One batch through the model: states, geometry, lenses, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from depthlaw.data.text.batch import Batch
from depthlaw.errors import InputError
from depthlaw.models import LanguageModel, Tokens
from depthlaw.probe.seen import Floats, Seen
from depthlaw.tensors.cross_entropy import Lens, read_layers
from depthlaw.tensors.geometry import angle, measure, norm, paper_measure
from depthlaw.tensors.stack import Call, Trace

if TYPE_CHECKING:
    from depthlaw.tensors.geometry import Geometry

LensKind = Literal["none", "block", "direct"]
Mode = Literal["corrected", "paper"]

# Tokens measured at once: small enough for temporaries to stay in a processor's cache.
_CHUNK = 256
_SAMPLE = 64


@dataclass(frozen=True)
class Measuring:
    """What is measured.

    Attributes
    ----------
    lens
        Whether predictions are read at every layer: ``block`` through the last block, as published,
        ``direct`` through norm and head only.
    mode
        ``paper`` adds the published numerics beside the corrected ones.
    """

    lens: LensKind = "none"
    mode: Mode = "corrected"


def see(lm: LanguageModel, batch: Batch, measuring: Measuring = Measuring()) -> Seen:
    """Run one batch and measure the tokens that count.

    Raises
    ------
    InputError
        When a layer gives nothing but zeros, or the same state for every token.
    """
    tokens = lm.tokens(batch.input_ids, batch.attention_mask)
    # Lenses run blocks again on whole rows, so they need every real token; the rest only those that count.
    real = batch.attention_mask.astype(bool) if measuring.lens == "block" else batch.has_successor
    taken = torch.from_numpy(real)
    trace = lm.capture(tokens, pick=lambda state: state[taken.to(state.device)])
    place = trace.states[-1].device
    kept = [state.to(place) for state in trace.states]
    among = torch.from_numpy(batch.has_successor[real]).to(place)
    states = tuple(kept) if bool(among.all()) else tuple(state[among] for state in kept)
    ids = batch.input_ids[batch.has_successor]
    refuse_dead_layers(states, ids)
    columns = _geometry_columns(lm, states, measuring.mode)
    if measuring.lens != "none":
        following = torch.from_numpy(_following(batch)).to(place)
        columns |= _lens_columns(lm, states, kept, trace, tokens, batch, following, measuring)
    chosen = batch.has_successor
    return Seen(
        states=states,
        columns=columns,
        document=batch.document[chosen],
        position=batch.position[chosen],
        token_id=ids,
        is_first=batch.is_first[chosen],
        is_special=batch.is_special[chosen],
        documents=batch.documents,
        complete_below=batch.after.documents,
    )


def refuse_dead_layers(states: Sequence[Tensor], ids: np.ndarray) -> None:
    """Refuse layers whose output carries nothing, as a bad device map or broken weights give.

    Parameters
    ----------
    states
        (tokens, width) each.
    ids
        (tokens,) token ids; a layer may give one state for all tokens only when they are one token.

    Raises
    ------
    InputError
        Names the first such layer.
    """
    if not len(ids):
        return
    # Different tokens, so that different states are due.
    places = np.unique(ids, return_index=True)[1][:_SAMPLE]
    for layer, state in enumerate(states):
        some = state[torch.from_numpy(places).to(state.device)]
        what = "the input of the first block" if layer == 0 else f"block {layer}"
        advice = "The weights are broken or were not loaded where they are used (device map?)."
        if not bool(some.any()) and not bool(state.any()):
            raise InputError(f"{what} gives nothing but zeros for all {len(ids)} tokens.", advice)
        if len(places) > 1 and bool((some == some[0]).all()):
            raise InputError(f"{what} gives the same state for {len(places)} different tokens.", advice)


def _geometry_columns(lm: LanguageModel, states: Sequence[Tensor], mode: Mode) -> dict[str, Floats]:
    parts: list[dict[str, Tensor]] = []
    middle = slice(1, len(states) - 2)
    for start in range(0, max(len(states[0]), 1), _CHUNK):
        some = [state[start : start + _CHUNK] for state in states]
        part = _named(measure(some))
        if len(states) > 3:
            part["theta_middle"] = part["theta_state"][middle].mean(0)
        normed = lm.normed(some[-1])
        if normed is not None:
            part["theta_state_normed"] = angle(some[-2], normed)
            part["norm_state_normed"] = norm(normed)
        if mode == "paper":
            seen = _named(paper_measure([*some[:-1], some[-1] if normed is None else normed]))
            part |= {f"paper_{name}": value for name, value in seen.items() if name != "relative_update"}
        parts.append(part)
    return {name: _to_numpy(torch.cat([part[name] for part in parts], dim=-1)) for name in parts[0]}


def _named(geometry: Geometry) -> dict[str, Tensor]:
    return dict(vars(geometry))


def _lens_columns(
    lm: LanguageModel,
    states: Sequence[Tensor],
    kept: Sequence[Tensor],
    trace: Trace,
    tokens: Tokens,
    batch: Batch,
    following: Tensor,
    measuring: Measuring,
) -> dict[str, Floats]:
    if measuring.lens == "direct":
        return _lens_named(read_layers(states, following, lm.finish))
    where = torch.from_numpy(batch.attention_mask.astype(bool))
    among = torch.from_numpy(batch.has_successor)
    last = lm.depth - 1

    def through(call: Call) -> list[Tensor]:
        read = []
        for state in kept[:last]:
            rows = state.new_zeros((*where.shape, state.shape[-1]))
            rows[where.to(rows.device)] = state
            read.append(lm.block(last, rows, call)[among.to(rows.device)].to(states[-1].device))
        return [*read, states[-1]]

    columns = _lens_named(read_layers(through(trace.calls[last]), following, lm.finish))
    if measuring.mode == "paper" and _script_unmasks_the_future(lm):
        blind = without_causal_mask(trace.calls[last], tokens)
        columns["paper_lens_ce"] = _to_numpy(read_layers(through(blind), following, lm.finish).cross_entropy)
    elif measuring.mode == "paper":
        columns["paper_lens_ce"] = columns["lens_ce"]
    return columns


def _script_unmasks_the_future(lm: LanguageModel) -> bool:
    # A fact about the published scripts: only the one for Pythia built the last block's mask by hand.
    return getattr(getattr(lm.model, "config", None), "model_type", None) == "gpt_neox"


def without_causal_mask(call: Call, tokens: Tokens) -> Call:
    """Return a call whose mask only leaves out padding, as the published script for Pythia had it."""
    real = torch.ones_like(tokens.ids, dtype=torch.bool) if tokens.mask is None else tokens.mask
    # A mask of zeros, not an absent one, which attention would take for a causal one.
    blocked = torch.zeros(real.shape, device=real.device).masked_fill(~real, torch.finfo(torch.float16).min)
    return replace(call, kwargs={**call.kwargs, "attention_mask": blocked[:, None, None, :]})


def _lens_named(lens: Lens) -> dict[str, Floats]:
    return {
        "lens_ce": _to_numpy(lens.cross_entropy),
        "lens_entropy": _to_numpy(lens.entropy),
        "lens_kl": _to_numpy(lens.divergence),
    }


def _following(batch: Batch) -> np.ndarray:
    """(tokens that count,) the next token's id."""
    following = np.roll(batch.input_ids, -1, axis=1)
    chosen: np.ndarray = following[batch.has_successor]
    return chosen


def _to_numpy(values: Tensor) -> Floats:
    """(layers, tokens) on any device → (tokens, layers) float32; (tokens,) stays."""
    array: Floats = values.to("cpu", torch.float32).numpy()
    return np.ascontiguousarray(array.T)
