"""The laboratory's experiments, or why they cannot run here: unlike the rest of depthlaw they need torch."""

from __future__ import annotations

import importlib
from functools import partial

from depthlaw.errors import InputError
from depthlaw.lab.engine import require_torch
from depthlaw.reproduce.outcome import Outcome
from depthlaw.reproduce.registry import Scale, select

HOME = {"theory": "depthlaw.reproduce.theory"}


def run(name: str, scale: Scale) -> Outcome:
    """Run an experiment, or skip it with the reason."""
    try:
        require_torch()
    except InputError as missing:
        return Outcome(id=name, title=select([name])[0].title, input="nothing", skipped=str(missing))
    module = importlib.import_module(HOME.get(name, "depthlaw.reproduce.lab_figures"))
    outcome: Outcome = getattr(module, name)(scale)
    return outcome


fig3b, fig4a, fig4b, fig4c, fig5, appC3, theory = (
    partial(run, name) for name in ("fig3b", "fig4a", "fig4b", "fig4c", "fig5", "appC3", "theory")
)
