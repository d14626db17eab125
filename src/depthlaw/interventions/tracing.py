"""Restoring cells, with all the work saved that can be saved without changing a digit that counts.

A patch at block l leaves everything up to l as it was: the row starts from the corrupted state behind block l
(block outputs) or in front of it (attention, MLP). Rows of all draws, tokens and prompts of a group that
start at the same block run together, in the batch shape of the clean and corrupted passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from depthlaw.interventions.cells import Cell, Cone
from depthlaw.interventions.passes import MEASURES, Passes, filled, path_of, read_targets
from depthlaw.models import LanguageModel
from depthlaw.models.sublayers import Sublayers, editing

Row = tuple[Cell, int]
"""A cell and the number of a draw."""


@dataclass(frozen=True)
class Restored:
    """What restoring the cells of a group gave.

    Attributes
    ----------
    cells
        All of them, those outside the causal cone too.
    values
        (cells, samples, measures) float64, see `depthlaw.interventions.passes.MEASURES`.
    rows
        Rows that were run for it.
    """

    cells: tuple[Cell, ...]
    values: NDArray[np.float64]
    rows: int


def restore(
    lm: LanguageModel,
    passes: Passes,
    cells: Sequence[Cell],
    sublayers: Sublayers | None = None,
    *,
    tell: Callable[[float], None] | None = None,
) -> Restored:
    """Restore every cell in every draw; cells outside the causal cone are filled in.

    Parameters
    ----------
    cells
        Their prompts are numbered as in ``passes``.
    tell
        Is told now and then which share of the rows has been run.
    """
    values = np.empty((len(cells), passes.samples, len(MEASURES)))
    readings = passes.readings.numpy()
    rows: list[tuple[int, Row]] = []
    for number, cell in enumerate(cells):
        if cell.cone is Cone.COMPUTE:
            rows += [(number, (cell, sample)) for sample in range(passes.samples)]
        else:
            known = readings[cell.prompt, 1:] if cell.cone is Cone.CORRUPTED else readings[cell.prompt, :1]
            values[number] = known
    for found, (number, (_, sample)) in zip(
        run_rows(lm, passes, [row for _, row in rows], sublayers, tell=tell), rows, strict=True
    ):
        values[number, sample] = found
    return Restored(tuple(cells), values, len(rows))


@torch.no_grad()
def run_rows(
    lm: LanguageModel,
    passes: Passes,
    rows: Sequence[Row],
    sublayers: Sublayers | None = None,
    *,
    tell: Callable[[float], None] | None = None,
) -> NDArray[np.float64]:
    """Run patched rows, (rows, measures), whatever their cones say; ``tell`` as in `restore`."""
    last: list[Tensor] = [torch.empty(0)] * len(rows)
    done = 0

    def start(number: int) -> tuple[str, int]:
        return rows[number][0].kind, rows[number][0].first

    for (_, first), members in groupby(sorted(range(len(rows)), key=start), key=start):
        numbers = list(members)
        for begin in range(0, len(numbers), passes.shape[0]):
            part = numbers[begin : begin + passes.shape[0]]
            chunk = filled([rows[number] for number in part], passes.shape[0])
            state = _run(lm, passes, chunk, first, sublayers)
            for row, number in enumerate(part):
                last[number] = state[row, list(passes.targets[rows[number][0].prompt].positions)]
            done += len(part)
            if tell is not None:
                tell(done / len(rows))
    targets = [passes.targets[cell.prompt] for cell, _ in rows]
    return read_targets(lm, last, targets).numpy() if rows else np.empty((0, len(MEASURES)))


def _run(
    lm: LanguageModel, passes: Passes, chunk: Sequence[Row], first: int, sublayers: Sublayers | None
) -> Tensor:
    """Run a chunk of rows of one kind that start at the same block, up to the raw last state."""
    kind = chunk[0][0].kind
    begin = first + 1 if kind == "block" else first
    state = passes.states[begin][[passes.row(cell.prompt, sample) for cell, sample in chunk]]
    if kind == "block":
        state = _patched(state, passes.states[begin], *_places(passes, chunk, first, clean_rows=True))
    for block in range(begin, lm.depth):
        rows, positions, sources = _places(passes, chunk, block, clean_rows=kind == "block")
        with ExitStack() as hooks:
            if kind != "block" and rows:
                module = lm.blocks[block].get_submodule(path_of(kind, sublayers))
                edit = partial(
                    _patched,
                    clean=passes.outputs[kind][block],
                    rows=rows,
                    positions=positions,
                    sources=sources,
                )
                hooks.callback(editing(module, edit).remove)
            state = lm.block(block, state, passes.calls[block])
        if kind == "block" and rows:
            state = _patched(state, passes.states[block + 1], rows, positions, sources)
    return state


def _places(
    passes: Passes, chunk: Iterable[Row], block: int, *, clean_rows: bool
) -> tuple[list[int], list[int], list[int]]:
    """Where to write behind ``block``, and the rows of the clean values: of all states, or of prompts."""
    places = [
        (row, at, passes.row(cell.prompt, None) if clean_rows else cell.prompt)
        for row, (cell, _) in enumerate(chunk)
        if cell.first <= block <= cell.last
        for at in cell.positions
    ]
    rows, positions, sources = zip(*places, strict=True) if places else ((), (), ())
    return list(rows), list(positions), list(sources)


def _patched(
    state: Tensor, clean: Tensor, rows: Sequence[int], positions: Sequence[int], sources: Sequence[int]
) -> Tensor:
    """Copy ``clean[sources, positions]`` to ``state[rows, positions]``; the state may come flattened."""
    patched = state.clone()
    view = patched.view(-1, clean.shape[1], clean.shape[2])
    view[list(rows), list(positions)] = clean[list(sources), list(positions)].to(patched)
    return patched
