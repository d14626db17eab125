"""Does the interval of the best depth hold the truth as often as it says, and does a design keep its promise?

Coverage: made tables with a known law; the best depth at 7e9 parameters, by profile and by bootstrap.
Designs: tables whose shapes grow nearly together, as published ones do; the runs that `design` asks for are
made with the known law, everything is refitted, and the width of the interval is compared with the promise
and with what a plain grid of equal cost gives.

    python benchmarks/plan_coverage.py [tables]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import special

from depthlaw.data.runs import read_runs
from depthlaw.laws.fit import fit
from depthlaw.laws.form import Form
from depthlaw.planning.allocate import Laws, best_shape
from depthlaw.planning.counting import NOMINAL
from depthlaw.planning.design import design
from depthlaw.planning.draws import parameter_draws
from depthlaw.planning.region import profile_range, region_of
from depthlaw.reproduce.made import NOISE, TRUTH, made_runs

FORM = Form(("width", "depth", "tokens"))
POINT = np.array(
    [v for s in FORM.scales for v in (np.log(TRUTH[f"c_{s}"]), TRUTH[f"alpha_{s}"])] + [TRUTH["floor"]]
)
PARAMS = 7e9


def log_depth(points: np.ndarray) -> np.ndarray:
    return np.log(best_shape(Laws(FORM, points), NOMINAL, PARAMS).depth)


def made(runs: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Losses of the known law, with noise, for runs (width, depth, tokens)."""
    truth = Laws(FORM, np.repeat(POINT[None], len(runs["width"]), 0)).loss(**runs)
    return {**runs, "loss": truth * np.exp(rng.normal(0.0, NOISE, len(truth)))}


def banded() -> dict[str, np.ndarray]:
    """Shapes that grow nearly together: eight widths, three depths around width/64, three token counts."""
    rows = [
        (width, max(round(width / 64 * factor), 2), tokens)
        for width in (512, 768, 1024, 1536, 2048, 2560, 3072, 4096)
        for factor in (0.7, 1.0, 1.4)
        for tokens in (3e9, 2e10, 1.5e11)
    ]
    return dict(zip(("width", "depth", "tokens"), np.array(rows, float).T, strict=True))


def coverage(tables: int) -> None:
    truth = float(log_depth(POINT[None])[0])
    inside = {"profile": 0, "bootstrap": 0}
    widths: dict[str, list[float]] = {"profile": [], "bootstrap": []}
    for seed in range(tables):
        law = fit(read_runs(made_runs(seed)), starts=64)
        ends = {
            "profile": profile_range(region_of(law), log_depth),
            "bootstrap": (draws := parameter_draws(law, 400, seed)).interval(
                log_depth(draws.points), law.level
            ),
        }
        for name, (low, high) in ends.items():
            inside[name] += low <= truth <= high
            widths[name].append(high - low)
    print(
        f"best depth at {PARAMS:.0e} parameters: truth {np.exp(truth):.1f}, {tables} made tables of 60 runs"
    )
    for name, hits in inside.items():
        low = special.betaincinv(hits, tables - hits + 1, 0.025)
        high = special.betaincinv(hits + 1, tables - hits, 0.975) if hits < tables else 1.0
        print(
            f"  {name:<10} 95% interval covers in {hits / tables:.1%} [{low:.1%}, {high:.1%}], "
            f"median high/low {np.exp(np.median(widths[name])):.2f}"
        )


def designs(tables: int, goal: str, budget: float) -> None:
    ratios, gains, cover = [], [], 0
    for seed in range(tables):
        rng = np.random.default_rng([20260, seed])
        base = made(banded(), rng)
        law = fit(read_runs(base), starts=64)
        settings = {"params": PARAMS} if goal == "best-depth" else {}
        chosen = design(law, budget=budget, goal=goal, resamples=32, seed=seed, **settings)
        runs = {n: np.array([getattr(r, n) for r in chosen.runs]) for n in ("width", "depth", "tokens")}
        found = []
        for extra in (runs, chosen.grid):
            new = made(dict(extra), rng)
            whole = {name: np.concatenate([base[name], new[name]]) for name in base}
            refitted = fit(read_runs(whole), starts=64)
            quantity = log_depth if goal == "best-depth" else lambda p: p[:, 3]
            found.append(profile_range(region_of(refitted), quantity))
        truth = float((log_depth if goal == "best-depth" else lambda p: p[:, 3])(POINT[None])[0])
        cover += found[0][0] <= truth <= found[0][1]
        widths = [high - low for low, high in found]
        ratios.append(widths[0] / chosen.expected_after)
        gains.append(widths[1] / widths[0])
    ratios_, gains_ = np.array(ratios), np.array(gains)
    print(f"design for {goal}, {budget:.0e} FLOP, {tables} follow-ups of 72 runs")
    print(
        f"  width of the interval / promised: mean {ratios_.mean():.3f}, "
        f"5–95 % {np.quantile(ratios_, 0.05):.2f}–{np.quantile(ratios_, 0.95):.2f}; covers the truth in "
        f"{cover / tables:.1%}"
    )
    print(
        f"  a plain grid of equal cost is {np.median(gains_):.2f} times wider (median), "
        f"better in {np.mean(gains_ < 1):.1%} of tables"
    )


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    coverage(tables)
    designs(tables, "alpha_depth", 1e21)
    designs(tables, "best-depth", 1e21)


if __name__ == "__main__":
    main()
