"""Hold a run of `mse` with the 6,000-step schedule against independent runs of the same protocol.

    depthlaw lab mse --steps 6000 --replicates 3 --out RUN
    DEPTHLAW_DATA=… python benchmarks/lab_reference.py RUN

Prints, for every ρ: at ρ = 0 each depth's test loss over the reference's for each seed, and the slope over
depths of 12 and more; at ρ = 1, which depends on the teacher drawn, the geometric mean over teachers over the
reference's, with the spread.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

DEPTHS = (6, 12, 16, 24, 32, 48)
STEPS = (500, 2000, 6000)


def reference() -> dict[tuple[float, int], np.ndarray]:
    """Losses (depths,) by ρ and step."""
    path = Path(os.environ["DEPTHLAW_DATA"]) / "lab_reference.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["rho"], r["step"]): np.array(r["loss"]) for r in rows if r["schedule_steps"] == 6000}


def ours(folder: Path) -> dict[tuple[float, int], dict[int, np.ndarray]]:
    """Losses (depths,) by ρ and step, then replica; only complete ones."""
    found: dict[tuple[float, int], dict[int, dict[int, float]]] = {}
    for row in pq.read_table(folder / "metrics.parquet").to_pylist():
        if row["test_loss"] is not None:
            at = found.setdefault((row["rho"], row["step"]), {}).setdefault(row["replica"], {})
            at[row["depth"]] = row["test_loss"]
    return {
        key: {r: np.array([losses[d] for d in DEPTHS]) for r, losses in replicas.items()}
        for key, replicas in found.items()
    }


def slope(loss: np.ndarray) -> float:
    """Minus the slope of ln loss on ln depth over depths of 12 and more."""
    return -float(np.polyfit(np.log(DEPTHS[1:]), np.log(loss[1:]), 1)[0])


def main(folder: Path) -> None:
    theirs, mine = reference(), ours(folder)
    print("depths" + " " * 18 + "".join(f"{depth:>8}" for depth in DEPTHS) + "   slope >= 12")
    for step in STEPS:
        for replica, loss in sorted(mine.get((0.0, step), {}).items()):
            ratio = loss / theirs[0.0, step]
            print(
                f"rho 0, step {step}, seed {replica}: "
                + "".join(f"{r:8.3f}" for r in ratio)
                + f"   {slope(loss):.3f} (reference {slope(theirs[0.0, step]):.3f})"
            )
    for step in STEPS:
        losses = np.array([loss for _, loss in sorted(mine.get((1.0, step), {}).items())])
        if len(losses):
            ratio = np.exp(np.log(losses).mean(0)) / theirs[1.0, step]
            spread = losses.max(0) / losses.min(0)
            print(f"rho 1, step {step}, {len(losses)} teachers:" + "".join(f"{r:8.3f}" for r in ratio))
            print("    largest over smallest " + "".join(f"{s:8.3f}" for s in spread))


if __name__ == "__main__":
    if len(sys.argv) == 2 and "DEPTHLAW_DATA" in os.environ:
        main(Path(sys.argv[1]))
    else:
        print("lab_reference.py: needs the folder of a run and DEPTHLAW_DATA (see its first lines)")
