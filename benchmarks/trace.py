"""How many cells a second does causal tracing restore? Against one full forward pass a cell, in one process.

The peer restores the same cells (every block and token of the needle prompt up to the prediction) with a hook
and a whole forward pass, logits at every token, in batches of the same size. The reference's way is the same
with batches of one block's tokens. Every figure is the median over interleaved runs; wall and CPU time.

    python benchmarks/trace.py [MODEL] [--pairs 5] [--samples 1]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from depthlaw import load_model
from depthlaw.interventions.cells import Cell, cells_of
from depthlaw.interventions.corruption import draw, embeddings, spread
from depthlaw.interventions.invariants import tokens_needed
from depthlaw.interventions.noise import parse_noise
from depthlaw.interventions.passes import run_passes
from depthlaw.interventions.positions import place
from depthlaw.interventions.prompts import Prompt
from depthlaw.interventions.tracing import Row, restore
from depthlaw.models import LanguageModel
from depthlaw.places import model_folders

PROMPT = Prompt("The Space Needle is in downtown Seattle", "Space Needle", "Seattle")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", nargs="?", default="SmolLM2-135M-Instruct")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1)
    options = parser.parse_args()
    if not Path(options.model).exists() and not any((f / options.model).exists() for f in model_folders()):
        print(f"skipped: no model {options.model} (python tools/make_models.py fetches SmolLM2)")
        return
    lm = load_model(options.model, device="cpu")
    placed = place(PROMPT, lm.tokenizer)
    clean = embeddings(lm, placed.ids)[slice(*placed.subject)]
    noisy = draw(parse_noise("s3"), clean, spread([clean]), options.samples, 0, 0, [])
    cells = cells_of(0, placed, lm.depth, ("block",), 1, 1, "first")
    rows = options.samples * (placed.predict + 1 - placed.subject[0])
    length = tokens_needed(placed, placed.predict)

    def ours() -> list[float]:
        passes = run_passes(lm, [placed], [noisy], (rows, length), "first", ("block",), None)
        found = restore(lm, passes, cells)
        return found.values[:, :, 0].mean(1).tolist()

    todo = [(cell, sample) for cell in cells for sample in range(options.samples)]
    ids = torch.tensor([placed.ids[:length]])
    states = lm.capture(lm.tokens(ids)).states
    token = placed.target[0]

    def naive(size: int) -> list[float]:
        values: list[float] = []
        for start in range(0, len(todo), size):
            values += full_pass(lm, todo[start : start + size], ids, placed.subject, noisy, states, token)
        return [
            statistics.fmean(values[n : n + options.samples]) for n in range(0, len(values), options.samples)
        ]

    ways = {
        "ours": ours,
        f"full forward, batch {rows}": lambda: naive(rows),
        f"full forward, batch {placed.predict + 1} (reference)": lambda: naive(placed.predict + 1),
    }
    print(f"{lm.name}: {lm.depth} blocks; {len(cells)} cells × {options.samples} draws")
    print(
        f"machine: {os.cpu_count()} cores; {torch.get_num_threads()} threads; load {os.getloadavg()[0]:.1f}"
    )
    measured = {name: [] for name in ways}
    results = {}
    for _ in range(options.pairs):
        for name, way in ways.items():
            results[name], wall, cpu = timed(way)
            measured[name].append((wall, cpu))
    first = results["ours"]
    for name, times in measured.items():
        gap = max(abs(a - b) for a, b in zip(first, results[name], strict=True))
        wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
        rates = f"{len(todo) / wall:8.1f} cells/s   {len(todo) / cpu:8.1f} cells per CPU second"
        ratios = [other[1] / mine[1] for mine, other in zip(measured["ours"], times, strict=True)]
        print(f"{name:40} {rates}   ours is {statistics.median(ratios):.2f}× (CPU)   |Δ ln p| ≤ {gap:.1e}")


def full_pass(
    lm: LanguageModel,
    rows: Sequence[Row],
    ids: torch.Tensor,
    subject: tuple[int, int],
    noisy: torch.Tensor,
    states: Sequence[torch.Tensor],
    token: int,
) -> list[float]:
    """ln p of the target for rows restored by hooks in one whole forward pass."""

    def corrupt(_module, _args, out):  # type: ignore[no-untyped-def]
        changed = out.clone()
        for row, (_, sample) in enumerate(rows):
            changed[row, slice(*subject)] = noisy[sample]
        return changed

    def patcher(block: int) -> Callable[..., object]:
        def patch(_module, _args, out):  # type: ignore[no-untyped-def]
            state = (out if torch.is_tensor(out) else out[0]).clone()
            for row, (cell, _) in enumerate(rows):
                if cell.block == block:
                    state[row, list(cell.positions)] = states[block + 1][0, list(cell.positions)]
            return state if torch.is_tensor(out) else (state, *out[1:])

        return patch

    wanted: set[Cell] = {cell for cell, _ in rows}
    handles = [lm.model.get_submodule(lm.roles.embedding).register_forward_hook(corrupt)]
    handles += [lm.blocks[b].register_forward_hook(patcher(b)) for b in {cell.block for cell in wanted}]
    logits = lm.logits(lm.tokens(ids.repeat(len(rows), 1)))[:, -1].double()
    for handle in handles:
        handle.remove()
    return logits.log_softmax(-1)[:, token].tolist()


def timed(way: Callable[[], list[float]]) -> tuple[list[float], float, float]:
    """What it returns, wall seconds, CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = way()
    return found, time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
