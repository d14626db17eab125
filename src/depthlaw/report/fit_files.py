"""What ``depthlaw fit --out DIR`` writes: the fit, its text, its figures and the data behind each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.data.store import Run
from depthlaw.laws.result import Fit
from depthlaw.laws.saved import fit_document
from depthlaw.plots.law import draw_loss_part, draw_profile, draw_residuals, loss_part
from depthlaw.plots.style import figure, rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_fit(run: Run, fit: Fit, payload: dict[str, Any], text: str) -> None:
    """Write everything that a run folder of ``fit`` holds.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    import pyarrow as pa

    run.write_text("fit.json", fit_document(fit))
    run.write_json("result.json", payload)
    run.write_text("fit.txt", text)
    run.write_table("params.parquet", fit.to_table(), units=dict.fromkeys(fit.to_table().column_names, "1"))

    rows = {**fit.data, "predicted": fit.predict(), "residual": fit.residuals()}
    rows |= {f"term_{name}": values for name, values in fit.terms().items()}
    run.write_table("rows.parquet", pa.table(rows), units={name: _unit(name) for name in rows})
    with figure(len(fit.form.scales)) as (made, axes):
        for ax, scale in zip(axes, fit.form.scales, strict=True):
            part = loss_part(fit, scale)
            draw_loss_part(ax, part, fit[f"alpha_{scale}"])
            if ax is not axes[0]:
                ax.set_ylabel("")
            columns = {
                scale: part.curve_x,
                "term": part.curve,
                "term_low": part.low,
                "term_high": part.high,
            }
            run.write_table(f"parts_{scale}.parquet", pa.table(columns), units={n: _unit(n) for n in columns})
        _write_figure(run, "parts", made)
    with figure(size=(4.2, 3.0)) as (made, axes):
        draw_residuals(axes[0], fit)
        _write_figure(run, "residuals", made)
    curves = [c for c in fit.profiles if not c.name.startswith("c_")]
    if curves:
        with figure(len(curves), size=(2.6 * len(curves), 2.4)) as (made, axes):
            for ax, curve in zip(axes, curves, strict=True):
                draw_profile(ax, curve, fit[curve.name])
            _write_figure(run, "profiles", made)
        names = np.concatenate([[c.name] * len(c.value) for c in fit.profiles])
        run.write_table(
            "profiles.parquet",
            pa.table(
                {
                    "name": names,
                    "value": np.concatenate([c.value for c in fit.profiles]),
                    "zeta": np.concatenate([c.zeta for c in fit.profiles]),
                }
            ),
            units={"name": "1", "value": "1", "zeta": "1"},
        )


def _write_figure(run: Run, name: str, made: Figure) -> None:
    for file, data in rendered(made, name).items():
        run.write_bytes(file, data)


def _unit(name: str) -> str:
    units = {
        "width": "units",
        "depth": "blocks",
        "tokens": "tokens",
        "params": "parameters",
        "flops": "FLOP",
        "weights": "1",
        "residual": "1",
    }
    return units.get(name, "as the loss")
