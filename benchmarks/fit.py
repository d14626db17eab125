"""How fast is a fit? Against Adam in PyTorch on the same objective and table, in the same process.

Every figure is the median over interleaved pairs (ours, theirs, ours, theirs, …) of one run of this file, so
that both sides see the same machine in the same state. Needs the extra ``lab`` (for torch); without it only
the wall times of the command are measured.

    python benchmarks/fit.py [--pairs 5] [--steps 2000] [--whole]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from depthlaw import RunTable, fit, read_runs
from depthlaw.laws.form import Form, bind

PROTOCOL_STEPS = 50_000
"""Full-batch Adam steps of the published fit."""
FORM = "width + depth + tokens"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "made_runs.csv"
START = {
    "c_width": 200.0,
    "alpha_width": 1.0,
    "c_depth": 200.0,  # with depth × 100
    "alpha_depth": 1.0,
    "c_tokens": 10.0,  # with tokens / 1e6
    "alpha_tokens": 0.33,
    "floor": 1.69,
}
"""Where the published protocol starts, in its scaled units."""


def main() -> None:
    options = _options()
    path, exclude, what = _table()
    runs = read_runs(path, exclude_highest=exclude)
    print(f"table: {what}, {runs.n_runs} runs; form {FORM} + floor")
    print(f"machine: {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start")
    if importlib.util.find_spec("torch"):
        _against_adam(runs, options)
    else:
        print(
            "no comparison with Adam: torch is not installed (it comes with the extra lab)", file=sys.stderr
        )
    _wall_times(path, exclude, options.pairs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5, help="interleaved pairs (default 5)")
    parser.add_argument("--steps", type=int, default=2000, help="Adam steps to time and scale (default 2000)")
    parser.add_argument("--whole", action="store_true", help="also run all 50,000 steps, for their objective")
    return parser.parse_args()


def _table() -> tuple[Path, int, str]:
    """The paper's table where it lies, else the made one that comes with the project."""
    root = os.environ.get("DEPTHLAW_DATA")
    path = Path(root or "") / "runs" / "chinchilla.csv"
    if root and path.is_file():
        return path, 40, "chinchilla.csv less its 40 highest losses"
    return EXAMPLE, 0, "examples/made_runs.csv (made runs)"


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """Wall time of one call, the mean of ``repeats`` calls in a row."""
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - start) / repeats


def _against_adam(runs: RunTable, options: argparse.Namespace) -> None:
    import torch

    # Tensors this small are fastest on one thread; more threads only wait for each other.
    torch.set_num_threads(1)
    scale = PROTOCOL_STEPS / options.steps
    works: dict[str, Callable[[], object]] = {
        "fit": lambda: fit(runs, form=FORM),
        "start": lambda: one_start(runs),
        "adam": lambda: adam_objective(runs, options.steps),
        "fused": lambda: adam_objective(runs, options.steps, fused=True),
    }
    works["fit"](), works["start"](), adam_objective(runs, 50), adam_objective(runs, 50, fused=True)
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.pairs):
        times["fit"].append(seconds(works["fit"]))
        times["adam"].append(scale * seconds(works["adam"]))
        times["start"].append(seconds(works["start"], repeats=20))
        times["fused"].append(scale * seconds(works["fused"]))
    print(
        f"\npeer: {PROTOCOL_STEPS} full-batch steps of torch.optim.Adam, torch {torch.__version__}, "
        f"1 thread ({options.steps} steps timed and scaled)"
    )
    print(f"{'':52}{'ours':>10}{'peer':>10}{'ratio':>9}{'lowest':>9}{'target':>10}")
    row("full fit (128 starts, profiles) : Adam", times["fit"], times["adam"], "≥ 50×")
    row("full fit (128 starts, profiles) : Adam(fused=True)", times["fit"], times["fused"], "")
    row("one start to convergence : Adam", times["start"], times["adam"], "≥ 1000×")
    row("one start to convergence : Adam(fused=True)", times["start"], times["fused"], "")

    objective, gradient = one_start(runs)
    found = fit(runs, form=FORM).certificate
    print("\nobjective reached, mean squared residual of ln L")
    print(f"  full fit   {found.objective:.6e}, {found.starts_at_best} of {found.starts} starts agree")
    print(f"  one start  {objective:.6e}, scaled gradient {gradient:.0e}")
    print(f"  Adam       {adam_objective(runs, options.steps):.6e} after {options.steps} steps")
    if options.whole:
        print(f"  Adam       {adam_objective(runs, PROTOCOL_STEPS):.6e} after {PROTOCOL_STEPS} steps")


def row(name: str, ours: list[float], theirs: list[float], target: str) -> None:
    """Print the medians of both sides and of the ratios of the pairs."""
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    print(
        f"{name:<52}{_time(statistics.median(ours)):>10}{_time(statistics.median(theirs)):>10}"
        f"{statistics.median(ratios):>8.0f}×{min(ratios):>8.0f}×{target:>10}"
    )


def one_start(runs: RunTable) -> tuple[float, float]:
    """Solve from the protocol's start alone; returns the objective and the scaled gradient."""
    form = Form.parse(FORM)
    bound = bind(form, {s: runs[s] for s in form.scales}, runs["loss"])
    # c·(100·x)^-α = c·100^-α · x^-α, and c·(x/1e6)^-α = c·1e6^α · x^-α.
    natural = dict(START)
    natural["c_depth"] *= 100.0 ** -START["alpha_depth"]
    natural["c_tokens"] *= 1e6 ** START["alpha_tokens"]
    point = np.array([np.log(v) if n.startswith("c_") else v for n, v in natural.items()])
    solved = bound.problem.solve(bound.to_internal(point)[None])
    assert solved.converged[0]
    return float(solved.cost[0]) / runs.n_runs, float(solved.gradient[0])


def adam_objective(runs: RunTable, steps: int, *, fused: bool = False) -> float:
    """Run the published protocol in PyTorch for some steps; returns the objective."""
    import torch

    scales = (runs["width"], 100.0 * runs["depth"], runs["tokens"] / 1e6)
    log_scales = torch.tensor(np.log(np.stack(scales)), dtype=torch.float32)  # (3, runs)
    log_loss = torch.tensor(np.log(runs["loss"]), dtype=torch.float32)  # (runs,)
    names = ("width", "depth", "tokens")
    log_c = torch.tensor([np.log(START[f"c_{n}"]) for n in names], dtype=torch.float32, requires_grad=True)
    alpha = torch.tensor([START[f"alpha_{n}"] for n in names], dtype=torch.float32, requires_grad=True)
    floor = torch.tensor(START["floor"], dtype=torch.float32, requires_grad=True)
    optimiser = torch.optim.Adam(
        [
            {"params": [log_c], "lr": 0.005},
            {"params": [alpha], "lr": 0.0005},
            {"params": [floor], "lr": 0.005},
        ],
        fused=fused or None,
    )

    def objective() -> torch.Tensor:
        loss = torch.exp(log_c[:, None] - alpha[:, None] * log_scales).sum(0) + floor
        return ((torch.log(loss) - log_loss) ** 2).mean()

    for _ in range(steps):
        optimiser.zero_grad()
        objective().backward()
        optimiser.step()
    with torch.no_grad():
        return float(objective())


def _wall_times(path: Path, exclude: int, pairs: int) -> None:
    command = [sys.executable, "-m", "depthlaw"]
    fitting = [*command, "fit", str(path), "--exclude-highest", str(exclude)]
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for k in range(pairs + 1):
            for name, words in {
                "depthlaw --help": [*command, "--help"],
                "depthlaw fit": fitting,
                "depthlaw fit --out": [*fitting, "--out", f"{scratch}/{k}"],
            }.items():
                taken = _process(words)
                if k > 0:  # the first fills the disk cache
                    times.setdefault(name, []).append(taken)
    print("\nwhole command, from start to end of the process (--out draws 3 figures in 3 formats)")
    print(f"{'':52}{'wall':>10}{'CPU':>10}")
    for name, measured in times.items():
        wall, cpu = (statistics.median(values) for values in zip(*measured, strict=True))
        print(f"{name:<52}{_time(wall):>10}{_time(cpu):>10}")


def _process(command: list[str]) -> tuple[float, float]:
    """Wall time and CPU time of a process; on a busy machine they differ."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = seconds(lambda: subprocess.run(command, check=True, capture_output=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _time(value: float) -> str:
    return f"{1e3 * value:.2f} ms" if value < 0.1 else f"{value:.3g} s"


if __name__ == "__main__":
    main()
