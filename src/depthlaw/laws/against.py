"""Hold another law against a fit: is a published point admissible on this table, and is it its optimum?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from depthlaw.errors import UsageError, unknown_name
from depthlaw.laws.form import to_coordinate
from depthlaw.laws.result import Fit, Status


@dataclass(frozen=True)
class PointCheck:
    """A point held against the optimum of a fit, both in mean squared log residual.

    Attributes
    ----------
    name
        What the point is called.
    objective, optimum
        Mean squared log residual at the point and at the optimum.
    statistic
        n·ln(objective/optimum), the likelihood ratio statistic under normal log residuals.
    threshold_one, threshold_all
        χ² quantiles at the fit's level for one parameter and for all free ones.
    """

    name: str
    objective: float
    optimum: float
    statistic: float
    threshold_one: float
    threshold_all: float

    @property
    def admissible(self) -> bool:
        """Whether the data cannot tell the point from the optimum, all parameters taken together."""
        return self.statistic <= self.threshold_all

    def sentence(self) -> str:
        """Say whether it is admissible and, where it is, that it is not the optimum."""
        verdict = "statistically admissible" if self.admissible else "excluded by the data"
        apart = self.admissible and self.statistic >= 1e-6
        best = ", but not the optimum of this objective" if apart else ""
        return (
            f"{self.name}: mse {self.objective:.5g} against {self.optimum:.6g} at the optimum; "
            f"n ln(ratio) = {self.statistic:.2f} (threshold {self.threshold_all:.2f} for all parameters, "
            f"{self.threshold_one:.2f} for one): {verdict}{best}."
        )


def against(fit: Fit, point: Mapping[str, float], name: str) -> PointCheck:
    """Evaluate the objective of ``fit`` at another point.

    Parameters
    ----------
    point
        A value in natural units for every parameter of the form (``floor`` may be left out for 0).

    Raises
    ------
    UsageError
        If parameters are missing or unknown.
    """
    names = fit.form.param_names
    for given in point:
        if given not in names:
            raise unknown_name("parameter", given, names)
    missing = [n for n in names if n not in point and n != "floor"]
    if missing:
        raise UsageError(f"{name} has no value for {', '.join(missing)}.")
    values = {"floor": 0.0, **point}
    coordinates = np.array([to_coordinate(n, values[n]) for n in names])
    residual = np.log(fit.at(coordinates)) - np.log(fit.data["loss"])
    weights = fit.data.get("weights", np.ones(fit.n_runs))
    objective = float(weights @ residual**2 / weights.sum())
    optimum = fit.certificate.objective
    held = {*fit.form.fixed, *(left for left, _ in fit.form.tied)} | (set() if fit.form.floor else {"floor"})
    n_free = sum(n not in held and fit[n].status is not Status.BOUNDARY for n in names)
    return PointCheck(
        name=name,
        objective=objective,
        optimum=optimum,
        statistic=fit.n_runs * float(np.log(objective / optimum)),
        threshold_one=_chi2_quantile(fit.level, 1),
        threshold_all=_chi2_quantile(fit.level, max(n_free, 1)),
    )


def _chi2_quantile(level: float, freedom: int) -> float:
    # As scipy.stats.chi2.ppf, without importing scipy.stats: that takes three times as long as a fit.
    return float(2.0 * special.gammaincinv(freedom / 2.0, level))
