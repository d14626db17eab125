"""depthlaw: how neural networks use their depth, measured.

The names below are the Python API; each is loaded on first use, so that ``import depthlaw`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from depthlaw.data.runs import RunTable, read_runs
    from depthlaw.interventions.ablate import ablate
    from depthlaw.interventions.execution import run_plan
    from depthlaw.interventions.trace import causal_trace
    from depthlaw.laws.compare import compare
    from depthlaw.laws.fit import Fit, fit
    from depthlaw.laws.sensitivity import sensitivity
    from depthlaw.models.load import load_model
    from depthlaw.probe.run import probe

_HOME = {
    "Fit": "depthlaw.laws.fit",
    "RunTable": "depthlaw.data.runs",
    "ablate": "depthlaw.interventions.ablate",
    "causal_trace": "depthlaw.interventions.trace",
    "compare": "depthlaw.laws.compare",
    "fit": "depthlaw.laws.fit",
    "load_model": "depthlaw.models.load",
    "read_runs": "depthlaw.data.runs",
    "run_plan": "depthlaw.interventions.execution",
    "sensitivity": "depthlaw.laws.sensitivity",
}

_CALLABLE = {"probe": "depthlaw.probe"}
"""Packages that are also the verb of their name."""

__all__ = [
    "Fit",
    "RunTable",
    "__version__",
    "ablate",
    "causal_trace",
    "compare",
    "fit",
    "load_model",
    "probe",
    "read_runs",
    "run_plan",
    "sensitivity",
]


def __getattr__(name: str) -> Any:
    if name in _CALLABLE:
        return importlib.import_module(_CALLABLE[name])
    if name not in _HOME:
        raise AttributeError(f"module 'depthlaw' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
