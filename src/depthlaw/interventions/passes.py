"""The clean and the corrupted passes of some prompts, in one batch shape, and how their targets are read.

Prompts of different length are filled up on the right and no mask is given: the model is causal, so that
nothing behind a token changes it. That keeps every row of a group, clean, corrupted or patched, in the same
shape, and one set of captured arguments serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from depthlaw.interventions.cells import reads_of
from depthlaw.interventions.positions import Placed
from depthlaw.interventions.trace_config import Kind
from depthlaw.models import LanguageModel
from depthlaw.models.sublayers import Sublayers
from depthlaw.tensors.geometry import working
from depthlaw.tensors.stack import Call, state_of

Item = TypeVar("Item")

MEASURES = ("log_probability", "logit", "rank")
"""What is read of a target: log of its (joint) probability, logit of its first token, and the rank of its
worst token from 1."""

HEAD_ROWS = 32
"""States that the head reads at a time: a few cost as much as many, as most work is reading its weights.
Always as many, filled up, so that no reading depends on how many there were."""


@dataclass(frozen=True)
class Target:
    """What to read in the rows of one prompt.

    Attributes
    ----------
    positions
        Tokens at which the next one is read.
    ids
        The next ones.
    """

    positions: tuple[int, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Passes:
    """Clean and corrupted passes of a group of prompts.

    Attributes
    ----------
    samples
        Draws. Rows of a prompt: its clean one, then its draws.
    shape
        Rows and tokens of every batch that is run.
    states
        depth + 1 tensors (prompts × (1 + samples), tokens, width).
    outputs
        Clean outputs by kind, one tensor (prompts, tokens, width) a block.
    calls
        Captured arguments, one a block.
    targets
        One a prompt.
    readings
        (prompts, 1 + samples, measures) float64.
    """

    samples: int
    shape: tuple[int, int]
    states: tuple[Tensor, ...]
    outputs: Mapping[Kind, tuple[Tensor, ...]]
    calls: tuple[Call, ...]
    targets: tuple[Target, ...]
    readings: Tensor

    def row(self, prompt: int, sample: int | None) -> int:
        """Number of a row in ``states``; ``None`` for the clean one."""
        return prompt * (1 + self.samples) + (0 if sample is None else 1 + sample)


def target_of(placed: Placed, read: str) -> Target:
    """Return what to read of a prompt."""
    positions = reads_of(placed, "first" if read == "first" else "all")
    return Target(positions, placed.target[: len(positions)])


@torch.no_grad()
def run_passes(
    lm: LanguageModel,
    group: Sequence[Placed],
    corrupted: Sequence[Tensor],
    shape: tuple[int, int],
    read: str,
    kinds: Sequence[Kind],
    sublayers: Sublayers | None,
) -> Passes:
    """Run the clean and corrupted rows of a group.

    Parameters
    ----------
    corrupted
        (samples, subject tokens, width) embeddings, one tensor a prompt.
    shape
        Rows and tokens of a batch; tokens no fewer than any prompt has up to its last reading.
    kinds
        Whose clean outputs are needed.
    sublayers
        Where attention and MLP are; ``None`` when only block outputs are restored.
    """
    samples = len(corrupted[0])
    targets = tuple(target_of(placed, read) for placed in group)
    rows = [(p, s) for p in range(len(group)) for s in (None, *range(samples))]
    pieces: list[tuple[Tensor, ...]] = []
    outputs: dict[Kind, list[list[Tensor]]] = {kind: [] for kind in kinds if kind != "block"}
    read_states: list[Tensor] = []
    calls: tuple[Call, ...] = ()
    for start in range(0, len(rows), shape[0]):
        part = filled(rows[start : start + shape[0]], shape[0])
        real = min(shape[0], len(rows) - start)
        ids = lm.tokens([_padded(group[p].ids, shape[1]) for p, _ in part])

        def edit(embedded: Tensor, part: Sequence[tuple[int, int | None]] = part) -> Tensor:
            changed = embedded.clone()
            for row, (p, s) in enumerate(part):
                if s is not None:
                    changed[row, slice(*group[p].subject)] = corrupted[p][s].to(embedded)
            return changed

        clean = [row for row, (_, s) in enumerate(part[:real]) if s is None]
        with ExitStack() as hooks:
            kept = {kind: _recording(lm, hooks, path_of(kind, sublayers), shape, clean) for kind in outputs}
            trace = lm.capture(ids, edit_embedding=edit)
        for kind, found in kept.items():
            outputs[kind].append(found)
        calls = calls or trace.calls
        pieces.append(tuple(state[:real] for state in trace.states))
        last = trace.states[-1]
        read_states += [last[row, list(targets[p].positions)] for row, (p, _) in enumerate(part[:real])]
    return Passes(
        samples,
        shape,
        tuple(torch.cat(layer) for layer in zip(*pieces, strict=True)),
        {kind: tuple(torch.cat(b) for b in zip(*parts, strict=True)) for kind, parts in outputs.items()},
        calls,
        targets,
        read_targets(lm, read_states, [targets[p] for p, _ in rows]).reshape(len(group), 1 + samples, -1),
    )


def read_targets(lm: LanguageModel, states: Sequence[Tensor], targets: Sequence[Target]) -> Tensor:
    """Read the targets off raw last states, with the head at the tokens read and nowhere else.

    Parameters
    ----------
    states
        One a row: (reads, width), the last states at the positions of its target.
    targets
        One a row.

    Returns
    -------
    Tensor
        (rows, measures) float64 on the CPU, see `MEASURES`.
    """
    reads = torch.cat(list(states))
    wanted = torch.tensor([i for target in targets for i in target.ids])
    whole = reads[filled(range(len(reads)), -(-len(reads) // HEAD_ROWS) * HEAD_ROWS)]
    batches = zip(torch.split(whole, HEAD_ROWS), torch.split(wanted, HEAD_ROWS), strict=True)
    parts = [_read(lm, part, ids) for part, ids in batches]
    logp, logit, rank = torch.cat(parts, 1)
    rows = [row for row, target in enumerate(targets) for _ in target.ids]
    index = torch.tensor(rows)
    found = torch.zeros(len(targets), len(MEASURES), dtype=torch.float64)
    found[:, 0].index_add_(0, index, logp)
    found[:, 2].scatter_reduce_(0, index, rank, "amax")
    begin = [place for place, row in enumerate(rows) if place == 0 or rows[place - 1] != row]
    found[:, 1] = logit[begin]
    return found


def _read(lm: LanguageModel, states: Tensor, ids: Tensor) -> Tensor:
    """(measures, ids) float64: log p, logit and rank of ids at the first of the states (rows, width)."""
    logits = working(lm.finish(states))[: len(ids)]
    chosen = logits.gather(-1, ids.to(logits.device).unsqueeze(-1))
    logp = chosen.double() - logits.double().logsumexp(-1, keepdim=True)
    rank = 1 + (logits > chosen).sum(-1, keepdim=True)
    return torch.cat([logp, chosen.double(), rank.double()], 1).T.cpu()


def filled(items: Sequence[Item], rows: int) -> list[Item]:
    """Repeat the last of some rows until there are ``rows``: every batch has the same shape."""
    return [*items, *[items[-1]] * (rows - len(items))]


def path_of(kind: Kind, sublayers: Sublayers | None) -> str:
    """Return where in a block what is restored comes from: attention or MLP."""
    assert sublayers is not None, "attention and MLP outputs need their places"
    return sublayers.attention if kind == "attention" else sublayers.mlp


def _recording(
    lm: LanguageModel, hooks: ExitStack, path: str, shape: tuple[int, int], clean: Sequence[int]
) -> list[Tensor]:
    """Keep the clean rows of what the modules at ``path`` return, block by block."""
    found: list[Tensor] = []

    def leaving(output: object) -> None:
        found.append(state_of(output).reshape(*shape, -1)[list(clean)])

    keep: Callable[..., None] = lambda _module, _args, output: leaving(output)  # noqa: E731
    for block in lm.blocks:
        hooks.callback(block.get_submodule(path).register_forward_hook(keep).remove)
    return found


def _padded(ids: Sequence[int], length: int) -> list[int]:
    return [*ids[:length], *[ids[-1]] * (length - len(ids))]
