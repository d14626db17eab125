"""What the probe costs, beside a named peer in the same run.

    python benchmarks/probe.py [--model M] [--text T] [--part forward|lens|memory] [--documents N] [--pairs N]

forward
    A pass without a lens (states, geometry, summaries, CKA, shards on disk) against a bare forward pass of
    the base model without its head, on the same batches. Wanted: at most 1.15.
lens
    A pass with the lens through the last block against the reference's way: rows right-padded to the
    maximum, states of all layers kept, the whole float32 log-softmax of every layer, results joined by
    torch.cat. Wanted: at least 2 times as fast.
memory
    Peak resident memory of fresh processes at N and at 4 N documents. Wanted: within 5 % or 30 MB.

Pairs are interleaved and the median of their ratios is printed, of wall time and of processor time; the
latter is what to look at on a machine that is shared.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from depthlaw.data.store import open_run
from depthlaw.data.text.batches import Batching, read_batches
from depthlaw.data.text.limit import Limit
from depthlaw.data.text.opening import open_text
from depthlaw.models import LanguageModel, load_model
from depthlaw.models.language_model import base_of
from depthlaw.places import model_folders
from depthlaw.probe.gather import Gathered
from depthlaw.probe.keep import Keeper
from depthlaw.probe.measure import Measuring, see
from depthlaw.probe.memory import give_back
from depthlaw.probe.summary import Summary
from depthlaw.tensors.stack import run_blocks


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], pairs: int, *, warm_up: bool = True
) -> tuple[float, float]:
    """Median ratio ours / theirs over interleaved pairs, of wall and of processor time."""
    if warm_up:
        ours(), theirs()
    ratios = []
    for number in range(pairs):
        order = (ours, theirs) if number % 2 else (theirs, ours)
        times = {work: timed(work) for work in order}
        ratios.append(tuple(a / b for a, b in zip(times[ours], times[theirs], strict=True)))
        print(f"  pair {number + 1}: wall {ratios[-1][0]:.3f}, processor {ratios[-1][1]:.3f}", flush=True)
    wall, cpu = zip(*ratios, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def batches_of(lm: LanguageModel, text: str, documents: int, rows: int, length: int) -> list:
    batching = Batching(batch_size=rows, max_length=length)
    return list(read_batches(open_text(text), lm.tokenizer, batching, limit=Limit(documents=documents)))


def a_pass(lm: LanguageModel, batches: list, measuring: Measuring) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        open_run(Path(folder) / "run", verb="probe", config={}) as run,
    ):
        keeper = Keeper(run, (Summary(), Gathered()), tokens=True)
        for batch in batches:
            keeper.take(see(lm, batch, measuring), batch.after)
            give_back()
        keeper.finish(batches[-1].after)


def forward(lm: LanguageModel, batches: list, pairs: int) -> None:
    base = base_of(lm.model, lm.roles)

    def bare() -> None:
        with torch.no_grad():
            for batch in batches:
                tokens = lm.tokens(batch.input_ids, batch.attention_mask)
                mask = {} if tokens.mask is None else {"attention_mask": tokens.mask.long()}
                base(input_ids=tokens.ids, use_cache=False, **mask)

    wall, cpu = compare(lambda: a_pass(lm, batches, Measuring()), bare, pairs)
    print(f"without lens / bare forward: wall {wall:.3f}, processor {cpu:.3f} (wanted ≤ 1.15)")


def reference_way(lm: LanguageModel, batches: list, length: int) -> None:
    """As published: every row padded to the maximum, all of everything at once."""
    collected = torch.empty(0)
    for batch in batches:
        rows, width = batch.input_ids.shape
        ids = torch.zeros(rows, length, dtype=torch.int64)
        mask = torch.zeros(rows, length, dtype=torch.bool)
        ids[:, :width] = torch.from_numpy(batch.input_ids)
        mask[:, :width] = torch.from_numpy(batch.attention_mask.astype(bool))
        trace = lm.capture(lm.tokens(ids, mask))
        counted = mask[:, :-1] & mask[:, 1:]
        readings = []
        for layer in range(lm.depth):
            last = lm.depth - 1
            through = run_blocks(lm, trace.states[layer], trace.calls, [last])
            log_p = lm.finish(through).float().log_softmax(-1)
            ce = -log_p[:, :-1].gather(-1, ids[:, 1:, None])[..., 0]
            readings.append(ce[counted])
        angles = []
        for a, b in zip(trace.states[:-1], trace.states[1:], strict=True):
            angles.append(
                torch.nn.functional.cosine_similarity(a, b, dim=-1).clamp(-1, 1).acos()[:, :-1][counted]
            )
        collected = torch.cat([collected, torch.stack(readings + angles).flatten()])


def lens(lm: LanguageModel, batches: list, pairs: int, length: int) -> None:
    measuring = Measuring("block")
    wall, cpu = compare(
        lambda: reference_way(lm, batches, length),
        lambda: a_pass(lm, batches, measuring),
        pairs,
        warm_up=False,
    )
    print(f"reference's way / with lens: wall {wall:.2f}, processor {cpu:.2f} (wanted ≥ 2)")


def memory(model: str, text: str, documents: int, rows: int, length: int) -> None:
    peaks = []
    for count in (documents, 4 * documents):
        words = ["--model", model, "--text", text, "--part", "peak", "--documents", str(count)]
        words += ["--rows", str(rows), "--length", str(length)]
        done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.split()[-1]))
        print(f"  {count} documents: peak {peaks[-1] / 2**20:.0f} MiB resident", flush=True)
    more = peaks[1] - peaks[0]
    print(f"4 × the documents: {more / 2**20:+.0f} MiB, {more / peaks[0]:+.1%} (wanted ≤ 5 % or 30 MB)")


def peak(model: str, text: str, documents: int, rows: int, length: int) -> None:
    from depthlaw.probe.run import probe

    with tempfile.TemporaryDirectory() as folder:
        settings = {"limit": str(documents), "batch_size": rows, "max_length": length}
        probe(model, text, out=Path(folder) / "run", **settings)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="SmolLM2-135M-Instruct")
    parser.add_argument("--text", default=f"{os.environ.get('DEPTHLAW_DATA', '.')}/text/web_c4.jsonl")
    parser.add_argument("--part", choices=["all", "forward", "lens", "memory", "peak"], default="all")
    parser.add_argument("--documents", type=int, default=16)
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    if given.part == "peak":
        return peak(given.model, given.text, given.documents, given.rows, given.length)
    if not Path(given.model).exists() and not any((f / given.model).exists() for f in model_folders()):
        print(f"skipped: no model {given.model} (python tools/make_models.py fetches SmolLM2)")
        return None
    if given.part in ("memory", "all"):
        memory(given.model, given.text, 200, given.rows, given.length)
    lm = load_model(given.model)
    batches = batches_of(lm, given.text, given.documents, given.rows, given.length)
    tokens = sum(batch.n_tokens for batch in batches)
    print(f"{given.model}: {given.documents} documents, {tokens} tokens, {torch.get_num_threads()} threads")
    if given.part in ("forward", "all"):
        forward(lm, batches, given.pairs)
    if given.part in ("lens", "all"):
        lens(lm, batches, given.pairs, given.length)
    return None


if __name__ == "__main__":
    main()
