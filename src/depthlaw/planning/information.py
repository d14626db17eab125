"""What runs tell about the parameters of a law: Fisher information of log losses, for a batch of laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from depthlaw.laws.form import BoundForm, Form, shifted_log
from depthlaw.laws.result import Fit
from depthlaw.numerics.terms import Array
from depthlaw.planning.draws import Draws, has_profile, settled
from depthlaw.planning.predict import scatter_of
from depthlaw.planning.region import Region, region_of

PRIOR_SPREAD = (3.0, 2.0)
"""Standard deviation, around each law, of ln c at the centre of the data and of α: used only where the data
leave parameters open, so that an infinite interval can be compared with a finite one."""


@dataclass(frozen=True)
class Information:
    """Information about the free coordinates of laws of one form, around each of a batch of laws.

    Attributes
    ----------
    points
        (laws, params).
    now
        (laws, free, free) of the runs at hand.
    variance
        s² of the log losses.
    basis
        (params, free) derivative of a point by the free coordinates.
    runs, free
        Number of runs at hand, and of free coordinates.
    prior
        Whether a prior was added because the data leave parameters open.
    """

    form: Form
    points: Array
    now: Array
    variance: float
    basis: Array
    runs: int
    free: int
    prior: bool

    def rows(self, scales: Mapping[str, Array]) -> Array:
        """Derivatives (laws, runs, free) of ln loss over s, at scales (runs,)."""
        by_point = _derivatives(self.form, self.points, scales)
        rows: Array = by_point @ self.basis / np.sqrt(self.variance)
        return rows

    def gradient(self, quantity: Callable[[Array], Array]) -> Array:
        """Derivatives (laws, free) of a quantity of the law, numerically."""
        step = 1e-4
        size = self.basis.shape[1]
        columns: list[Array] = []
        for k in range(size):
            move = step * self.basis[:, k]
            columns.append((quantity(self.points + move) - quantity(self.points - move)) / (2 * step))
        return np.stack(columns, -1)


def information(fit: Fit, draws: Draws) -> Information:
    """The information that the runs of a fit hold, around each of the drawn laws."""
    region: Region = region_of(fit)
    bound: BoundForm = region.bound
    basis = bound.transform @ bound.problem.map.matrix
    variance = scatter_of(region) ** 2
    scales = {s: fit.data[s] for s in fit.form.scales}
    weights = bound.problem.weights / bound.problem.weights.mean()
    rows = _derivatives(fit.form, draws.points, scales) @ basis / np.sqrt(variance)
    now = np.einsum("bri,r,brj->bij", rows, weights, rows)
    if settled(fit) and not has_profile(fit):
        # Clustered or robust: the sandwich says how much less (or more) the runs tell than independent rows.
        inverse = np.linalg.pinv(basis)
        sandwich = inverse @ fit.covariance @ inverse.T
        now = np.broadcast_to(np.linalg.pinv(sandwich, hermitian=True), now.shape)
    prior = not settled(fit)
    if prior:
        spread = np.tile(PRIOR_SPREAD, len(fit.form.scales) + 1)[: len(bound.transform)]
        now = now + np.diag(1.0 / spread[bound.problem.map.pick] ** 2)
    return Information(fit.form, draws.points, now, variance, basis, fit.n_runs, basis.shape[1], prior)


def _derivatives(form: Form, points: Array, scales: Mapping[str, Array]) -> Array:
    """∂ ln L / ∂ point, (laws, runs, params)."""
    logs = [shifted_log(s, np.asarray(scales[s], float), form.offsets.get(s, 0.0)) for s in form.scales]
    out = np.empty((len(points), len(logs[0]), points.shape[1]))
    total = np.repeat(points[:, -1, None], len(logs[0]), axis=1)
    for k, u in enumerate(logs):
        term = np.exp(points[:, 2 * k, None] - points[:, 2 * k + 1, None] * u)
        out[:, :, 2 * k], out[:, :, 2 * k + 1] = term, -term * u
        total += term
    out[:, :, -1] = 1.0
    result: Array = out / total[:, :, None]
    return result
