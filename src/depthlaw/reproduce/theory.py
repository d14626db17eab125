"""The arithmetic of errors and untrained integrators: exponents that theory fixes, the same at any scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from depthlaw.lab.config import LabConfig
from depthlaw.lab.flow import integration_error, teacher_convergence
from depthlaw.lab.theory import summed_error_loss
from depthlaw.numerics.runge_kutta import MIDPOINT, RESIDUAL
from depthlaw.plots.lab import scale_depth, shades
from depthlaw.plots.style import figure, rendered, scale_axis
from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.expected import expected
from depthlaw.reproduce.outcome import Outcome, OutcomeFigure, OutcomeTable, compare
from depthlaw.reproduce.registry import Scale, select

DEPTHS = (6, 12, 16, 24, 32, 48)
KINDS = {
    "independent": "independent errors",
    "random_order_1": "random signs, order 1",
    "random_order_2": "random signs, order 2",
    "euler": "Euler, untrained",
    "midpoint": "midpoint, untrained",
}
"""What the curves are called."""


def theory(scale: Scale) -> Outcome:
    """Simulate sums of errors, and integrate a tied teacher's flow without training."""
    import pyarrow as pa

    samples, inputs = (4000, 64) if scale == "smoke" else (20_000, 512)
    losses = {
        "independent": summed_error_loss(DEPTHS, order=0, signs="random", samples=samples),
        "random_order_1": summed_error_loss(DEPTHS, order=1, signs="random", samples=samples),
        "random_order_2": summed_error_loss(DEPTHS, order=2, signs="random", samples=samples),
    }
    config = replace(LabConfig(), dtype="float64")
    for name, tableau in (("euler", RESIDUAL), ("midpoint", MIDPOINT)):
        errors = [integration_error(config, r, DEPTHS, tableau, inputs).error ** 2 for r in range(3)]
        losses[name] = np.exp(np.mean(np.log(errors), 0))
    theirs = expected("theory", "paper")
    rows = [compare(f"alpha_{name}", theirs[f"alpha_{name}"], _slope(loss)) for name, loss in losses.items()]
    steps = (32, 64, 128) if scale == "smoke" else (64, 128, 256)
    for kind in ("flow", "sqrt"):
        order = np.mean([teacher_convergence(config, r, steps, kind, inputs).order for r in range(3)])
        rows.append(compare(f"teacher_order_{kind}", theirs[f"teacher_order_{kind}"], float(order)))
    with figure(size=(4.2, 3.4)) as (made, axes):
        for (name, loss), color in zip(losses.items(), shades(len(losses)), strict=True):
            label = rf"{KINDS[name]}, $\alpha={_slope(loss):.2f}$"
            axes[0].plot(DEPTHS, loss / loss[0], "o-", ms=3, color=color, label=label)
        scale_depth(axes[0], DEPTHS)
        scale_axis(axes[0], "y")
        axes[0].set_ylabel("loss, relative to the shallowest")
        axes[0].legend(handlelength=1.4)
        files = rendered(made, "theory")
    table = pa.table({"depth": list(DEPTHS), **losses})
    return Outcome(
        id="theory",
        title=select(["theory"])[0].title,
        input=f"{samples} simulated networks a depth; flows of 3 tied teachers, {inputs} inputs",
        comparisons=tuple(rows),
        statements=(
            "A teacher's order is that of its output's convergence in its own depth: 1 with B scaled by "
            "√128/ℓ* (flow time held), none with the paper's 1/√ℓ*.",
        ),
        figures={"theory": OutcomeFigure(files, caption("theory"), ("theory.parquet",))},
        tables={"theory.parquet": OutcomeTable(table, {"depth": "blocks", **dict.fromkeys(losses, "1")})},
    )


def _slope(loss: np.ndarray) -> float:
    return -float(np.polyfit(np.log(DEPTHS), np.log(loss), 1)[0])
