"""A probe as plain text: one line a layer with a small bar, then what it means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from depthlaw.plurals import counted
from depthlaw.probe.columns import QUANTITIES
from depthlaw.probe.findings import findings, sentences
from depthlaw.report.text import NONE, table

if TYPE_CHECKING:
    from depthlaw.probe.result import ProbeResult

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 16


def probe_text(result: ProbeResult) -> str:
    """Return the profile of a model, layer by layer, and three sentences."""
    theta, error = result.layers("theta_state"), result.layers("theta_state", "stderr")
    update = result.layers("theta_update").tolist() if result.depth > 1 else []
    norm, step = result.layers("norm_state"), result.layers("relative_update", "q50")
    lens = result.layers("lens_ce") if "lens_ce" in result.quantities else None
    header = ["block", "θ state", "±", "", "θ update", "‖Δh‖/‖h‖", "‖h‖ after"]
    header += ["lens CE before"] if lens is not None else []
    rows = []
    most = float(max(theta.max(), 1e-9))
    for layer in range(result.depth):
        row = [
            str(layer + 1),
            f"{theta[layer]:.3f}",
            NONE if math.isnan(error[layer]) else f"{error[layer]:.3f}",
            bar(theta[layer] / most),
            f"{update[layer]:.3f}" if layer < len(update) else "",
            f"{step[layer]:.3g}",
            f"{norm[layer + 1]:.4g}",
        ]
        rows.append([*row, f"{lens[layer]:.3f}"] if lens is not None else row)
    said = "".join(f"\n{sentence}" for sentence in sentences(result))
    notices = "".join(f"note: {notice.message}\n" for notice in result.notices)
    return f"{headline(result)}\n\n{table(rows, header)}{said}\n{notices}"


def headline(result: ProbeResult) -> str:
    """Return one line on what was measured."""
    shape = f"{counted(result.depth, 'block')} × {result.width}, {result.dtype}"
    return (
        f"{result.model}: {shape} · {result.text}: "
        f"{counted(result.n_documents, 'document')}, {counted(result.n_counted, 'token')} counted"
    )


def bar(share: float, cells: int = _BAR) -> str:
    """Return a bar of up to ``cells`` characters for a share of 0 … 1."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def probe_payload(result: ProbeResult, described: dict[str, Any]) -> dict[str, Any]:
    """Return a result for programs: what was measured, the findings, and every summary row by quantity."""
    layers: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in result.summary.to_pylist():
        kept = {name: value for name, value in row.items() if name not in ("quantity", "tokens", "unit")}
        layers.setdefault(row["quantity"], {}).setdefault(row["tokens"], []).append(kept)
    return {
        **described,
        "findings": findings(result),
        "sentences": sentences(result),
        "units": {name: QUANTITIES[name].unit for name in result.quantities},
        "layers": layers,
    }
