"""1,000 bootstrap refits against the fastest way in SciPy: a loop over least_squares(method="lm").

The peer gets centred coordinates, the analytic Jacobian, default tolerances and the optimum to start from;
ours starts from the optimum, sends scouts to other admissible points and tries all resamples on each other.
Interleaved pairs, median; every refit must have converged, and none may end worse than SciPy's.

    python benchmarks/bootstrap.py [REFITS] [PAIRS]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from depthlaw import fit, read_runs
from depthlaw.laws.bootstrap import rebind
from depthlaw.laws.optimum import curvature, find_optimum
from depthlaw.laws.uncertainty import distinct_starts
from depthlaw.numerics.resampling import draw_counts, refit
from depthlaw.reproduce.made import made_runs


def peer(logs: list[np.ndarray], log_loss: np.ndarray, start: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Refit by SciPy, one resample after the other: objectives (resamples,)."""

    def terms(z: np.ndarray, u: list[np.ndarray]) -> list[np.ndarray]:
        return [np.exp(z[2 * k] - z[2 * k + 1] * u[k]) for k in range(len(u))]

    def residual(z: np.ndarray, u: list[np.ndarray], y: np.ndarray) -> np.ndarray:
        return np.log(sum(terms(z, u)) + z[-1]) - y

    def jacobian(z: np.ndarray, u: list[np.ndarray], y: np.ndarray) -> np.ndarray:
        parts = terms(z, u)
        value = sum(parts) + z[-1]
        columns = [c for part, v in zip(parts, u, strict=True) for c in (part / value, -v * part / value)]
        return np.stack([*columns, 1.0 / value], 1)

    costs = np.empty(len(counts))
    for i, count in enumerate(counts):
        rows = np.repeat(np.arange(len(log_loss)), count.astype(int))
        u = [v[rows] for v in logs]
        found = least_squares(residual, start, jac=jacobian, method="lm", args=(u, log_loss[rows]))
        costs[i] = 2.0 * found.cost
    return costs


def main(refits: int, pairs: int) -> int:
    data = Path(os.environ.get("DEPTHLAW_DATA", "")) / "runs" / "chinchilla.csv"
    if os.environ.get("DEPTHLAW_DATA") and data.is_file():
        law, what = fit(read_runs(data, exclude_highest=40)), "the paper's 203 runs"
    else:
        law, what = fit(made_runs()), "60 made runs"
    bound, optimum = rebind(law)
    found = find_optimum(bound, starts=64, seed=0)
    others = distinct_starts(bound, found, curvature(bound, found))
    counts = draw_counts(np.random.default_rng(0), np.arange(law.n_runs), refits)
    ours, theirs = [], []
    for _ in range(pairs):
        started = time.perf_counter()
        mine = refit(bound.problem, optimum, counts, others=others, rng=np.random.default_rng(1))
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        costs = peer(list(bound.log_scales), bound.problem.log_loss, optimum, counts)
        theirs.append(time.perf_counter() - started)
    started = time.perf_counter()
    refit(bound.problem, optimum, counts)
    alone = time.perf_counter() - started
    worse = float(np.max(mine.cost / costs - 1.0))
    ratio = float(np.median(np.array(theirs) / np.array(ours)))
    print(f"{refits} bootstrap refits of {what}, {pairs} interleaved pairs")
    print(f"  depthlaw, with scouts       {np.median(ours):8.3f} s")
    print(f"  depthlaw, optimum only      {alone:8.3f} s")
    print(f"  scipy least_squares lm loop {np.median(theirs):8.3f} s")
    print(f"  ratio {ratio:.1f}x with scouts, {np.median(theirs) / alone:.1f}x without (promised 3x)")
    print(f"  converged {mine.converged.mean():.1%}; worst objective against scipy {worse:+.1e} relative")
    return 0 if mine.converged.all() and worse <= 1e-6 and ratio >= 3.0 else 1


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:]]
    sys.exit(main(numbers[0] if numbers else 1000, numbers[1] if len(numbers) > 1 else 5))
