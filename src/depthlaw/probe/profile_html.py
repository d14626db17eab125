"""A result in a notebook: one line a layer."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from depthlaw.plurals import counted
from depthlaw.probe.findings import sentences

if TYPE_CHECKING:
    from depthlaw.probe.result import ProbeResult


def profile_html(result: ProbeResult) -> str:
    """Return a small table of theta_state, theta_update and norms by layer, with the sentences below."""
    theta, error = result.layers("theta_state"), result.layers("theta_state", "stderr")
    update = result.layers("theta_update").tolist() if result.depth > 1 else []
    norms = result.layers("norm_state")
    most = max(theta.max(), 1e-9)
    rows = []
    for layer in range(result.depth):
        between = f"{update[layer]:.2f}" if layer < len(update) else ""
        width = round(100 * theta[layer] / most)
        bar = f'<div style="background:#4878a8;height:0.8em;width:{width}px"></div>'
        rows.append(
            f"<tr><td>{layer + 1}</td><td>{theta[layer]:.3f} ± {_fixed(error[layer])}</td>"
            f'<td style="text-align:left">{bar}</td><td>{between}</td><td>{norms[layer + 1]:.4g}</td></tr>'
        )
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences(result))
    counts = f"{counted(result.n_documents, 'document')}, {counted(result.n_counted, 'token')}"
    return (
        f"<p><b>{escape(result.model)}</b> on {escape(result.text)}: {counts}</p>"
        "<table><tr><th>block</th><th>θ state (rad)</th><th></th>"
        f"<th>θ update</th><th>norm after</th></tr>{''.join(rows)}</table><ul>{said}</ul>"
    )


def _fixed(value: float) -> str:
    return "—" if math.isnan(value) else f"{value:.3f}"
