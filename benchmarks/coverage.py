"""Do 95 % intervals of the depth exponent cover the truth in 95 % of tables?

Made tables of known truth: independent runs (profile likelihood, bootstrap over rows), and 20 checkpoints of
each of 25 runs whose errors are shared within a run (bootstrap over rows, bootstrap over runs). Prints the
coverage of every parameter and writes the figure that docs/benchmarks.md shows.

    python benchmarks/coverage.py [TABLES] [FIGURE.svg]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from depthlaw import fit
from depthlaw.plots.style import FIT, MUTED, SECOND, figure
from depthlaw.report.text import table

TRUTH = {"alpha_width": 0.9, "alpha_depth": 1.2, "alpha_tokens": 0.3, "floor": 1.7}
LEVEL = 0.95
PROMISED = (0.90, 0.99)


def loss(width: np.ndarray, depth: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    return 300.0 * width**-0.9 + 5.0 * depth**-1.2 + 500.0 * tokens**-0.3 + 1.7


def independent(rng: np.random.Generator) -> dict[str, Any]:
    """100 runs: 25 shapes on 4 amounts of tokens each, errors of 0.5 %."""
    width, depth, tokens = (
        x.ravel()
        for x in np.meshgrid([512.0, 768, 1024, 2048, 4096], [6.0, 10, 16, 28, 48], [2e9, 1e10, 5e10, 2.5e11])
    )
    noise = np.exp(rng.normal(0, 0.005, width.size))
    return {"width": width, "depth": depth, "tokens": tokens, "loss": loss(width, depth, tokens) * noise}


def checkpoints(rng: np.random.Generator) -> dict[str, Any]:
    """25 runs of 20 checkpoints: 0.8 % shared by the checkpoints of a run, 0.2 % of their own."""
    shapes = np.meshgrid([512.0, 768, 1024, 2048, 4096], [6.0, 10, 16, 28, 48])
    width, depth = (np.repeat(x.ravel(), 20) for x in shapes)
    run = np.repeat(np.arange(25), 20)
    tokens = np.tile(np.geomspace(2e9, 2.5e11, 20), 25)
    noise = np.exp(rng.normal(0, 0.008, 25)[run] + rng.normal(0, 0.002, run.size))
    columns = {"width": width, "depth": depth, "tokens": tokens, "loss": loss(width, depth, tokens) * noise}
    return {"run": [f"run {i}" for i in run], **columns}


METHODS: dict[str, tuple[Callable[[np.random.Generator], dict[str, Any]], dict[str, Any], bool]] = {
    "independent runs, profile": (independent, {}, True),
    "independent runs, bootstrap": (independent, {"intervals": "bootstrap"}, True),
    "checkpoints, bootstrap over rows": (checkpoints, {"errors": "rows", "intervals": "bootstrap"}, False),
    "checkpoints, bootstrap over runs": (checkpoints, {"errors": "clusters"}, True),
}
"""Method → tables, settings of the fit, and whether it promises to cover."""


def main(tables: int, picture: Path | None) -> int:
    hits = {m: {p: np.zeros(tables, bool) for p in TRUTH} for m in METHODS}
    ends = {m: np.zeros((tables, 2)) for m in METHODS}
    started = time.perf_counter()
    for seed in range(tables):
        for method, (make, settings, _) in METHODS.items():
            law = fit(make(np.random.default_rng(seed)), starts=64, resamples=500, level=LEVEL, **settings)
            for name, truth in TRUTH.items():
                low, high = law[name].interval or (np.nan, np.nan)
                hits[method][name][seed] = low <= truth <= high
            ends[method][seed] = law["alpha_depth"].interval or (np.nan, np.nan)
        if seed % 20 == 19:
            print(f"{seed + 1} of {tables} tables, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    rows = [
        [m, *(f"{100 * hits[m][p].mean():.1f} %" for p in TRUTH), f"{np.median(np.ptp(ends[m], axis=1)):.3f}"]
        for m in METHODS
    ]
    print(
        f"coverage of {LEVEL:.0%} intervals over {tables} made tables, "
        f"{time.perf_counter() - started:.0f} s\n"
    )
    print(table(rows, ["", *TRUTH, "width for alpha_depth"]))
    kept = True
    for method, (_, _, promises) in METHODS.items():
        share = hits[method]["alpha_depth"].mean()
        inside = PROMISED[0] <= share <= PROMISED[1]
        kept &= inside == promises
        print(f"{method}: {share:.1%} of alpha_depth {'inside' if inside else 'outside'} 90–99 %")
    if picture is not None:
        draw(hits, ends, picture)
    return 0 if kept else 1


def draw(hits: dict[str, Any], ends: dict[str, Any], picture: Path) -> None:
    with figure(len(METHODS), size=(9.6, 3.2)) as (made, axes):
        for ax, method in zip(axes, METHODS, strict=True):
            order = np.argsort(ends[method].mean(1))
            for rank, seed in enumerate(order):
                covered = hits[method]["alpha_depth"][seed]
                ax.plot(ends[method][seed], [rank, rank], lw=0.8, color=FIT if covered else SECOND)
            ax.axvline(TRUTH["alpha_depth"], color=MUTED, lw=1.0, zorder=3)
            ax.set_title(f"{method.replace(', ', chr(10))}\n{hits[method]['alpha_depth'].mean():.1%} cover")
            ax.set_xlabel("95 % interval of alpha_depth")
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
        made.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(
        main(int(arguments[0]) if arguments else 200, Path(arguments[1]) if len(arguments) > 1 else None)
    )
