"""depthlaw: how neural networks use their depth, measured.

The names below are the Python API; each is loaded on first use, so that ``import depthlaw`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depthlaw.lazy import names_of

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from depthlaw.data.runs import RunTable, read_runs
    from depthlaw.interventions.ablate import ablate
    from depthlaw.interventions.execution import run_plan
    from depthlaw.interventions.trace import causal_trace
    from depthlaw.lab.config import LabConfig
    from depthlaw.lab.experiment import train_lab
    from depthlaw.lab.result import LabResult
    from depthlaw.laws.compare import compare
    from depthlaw.laws.fit import Fit, fit
    from depthlaw.laws.sensitivity import sensitivity
    from depthlaw.models.load import load_model
    from depthlaw.planning.design import design
    from depthlaw.planning.invert import reach
    from depthlaw.planning.plan import plan
    from depthlaw.planning.predict import predict_at
    from depthlaw.probe.run import probe

_HOME = {
    "Fit": "depthlaw.laws.fit",
    "LabConfig": "depthlaw.lab.config",
    "LabResult": "depthlaw.lab.result",
    "RunTable": "depthlaw.data.runs",
    "ablate": "depthlaw.interventions.ablate",
    "causal_trace": "depthlaw.interventions.trace",
    "compare": "depthlaw.laws.compare",
    "design": "depthlaw.planning.design",
    "fit": "depthlaw.laws.fit",
    "load_model": "depthlaw.models.load",
    "plan": "depthlaw.planning.plan",
    "predict_at": "depthlaw.planning.predict",
    "probe": "depthlaw.probe",  # the package can be called
    "reach": "depthlaw.planning.invert",
    "read_runs": "depthlaw.data.runs",
    "run_plan": "depthlaw.interventions.execution",
    "sensitivity": "depthlaw.laws.sensitivity",
    "train_lab": "depthlaw.lab.experiment",
}

__all__ = [
    "Fit",
    "LabConfig",
    "LabResult",
    "RunTable",
    "__version__",
    "ablate",
    "causal_trace",
    "compare",
    "design",
    "fit",
    "load_model",
    "plan",
    "predict_at",
    "probe",
    "reach",
    "read_runs",
    "run_plan",
    "sensitivity",
    "train_lab",
]


__getattr__ = names_of(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
