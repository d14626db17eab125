"""The fitting problem: an additive law against observed losses, in log residuals.

Everything here is in internal units. Losses are divided by their geometric mean and log scales are
centred, so fits of losses in nats or bits, tokens in units or billions, are the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from depthlaw.numerics.affine import AffineMap, MapBatch
from depthlaw.numerics.levmar import GRADIENT_TOLERANCE, Solutions, levmar
from depthlaw.numerics.losses import Loss, Squares
from depthlaw.numerics.terms import Array, Term, add_second_derivatives, evaluate_terms, second_along


@dataclass(frozen=True)
class LogProblem:
    """Minimise Σ w·loss(ln L̂ − ln L) over the parameters of a sum of terms.

    Attributes
    ----------
    terms
        The summands; parameters are theirs, one after the other.
    log_loss
        (runs,) observed ln L in internal units.
    weights
        (runs,) non-negative, any scale.
    map
        Linear constraints on the parameters.
    lower, upper
        (params,) bounds.
    step_limit
        (params,) largest change in one solver step.
    """

    terms: Sequence[Term]
    log_loss: Array
    weights: Array
    map: AffineMap
    lower: Array
    upper: Array
    step_limit: Array
    loss: Loss = Squares()  # noqa: RUF009 - frozen and without state

    @property
    def n_runs(self) -> int:
        """Number of rows."""
        return len(self.log_loss)

    def constrained(self, functional: Array, value: float, pivot: int) -> LogProblem:
        """The same problem with ``functional · p = value`` added."""
        return replace(self, map=self.map.eliminate(functional, value, pivot))

    def predict(self, params: Array) -> Array:
        """Losses (batch, runs) for parameters (batch, params), in internal units."""
        return evaluate_terms(self.terms, params, self.n_runs)[0]

    def residuals(self, params: Array) -> tuple[Array, Array]:
        """Log residuals (batch, runs) and their derivatives by the parameters (batch, params, runs)."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value, jacobian = evaluate_terms(self.terms, params, self.n_runs)
            jacobian *= (1.0 / value)[:, None, :]
            residual = np.log(value, out=value)
            residual -= self.log_loss
        return residual, jacobian

    def cost(self, params: Array) -> Array:
        """Σ w·loss for parameters (batch, params) → (batch,)."""
        rho = self.loss(self.residuals(params)[0])[0]
        total: Array = np.sum(self.weights * rho, -1)
        return total

    def second_order(self, jacobian: Array, factor: Array) -> Array:
        """See `levmar.Model.second_order`: ∂² ln L̂ = ∂²L̂ / L̂ − ∂ ln L̂ · ∂ ln L̂."""
        form: Array = -np.matmul(jacobian * factor[:, None, :], jacobian.transpose(0, 2, 1))
        add_second_derivatives(self.terms, jacobian, factor, form)
        return form

    def along(self, jacobian: Array, step: Array) -> Array:
        """See `levmar.Model.along`."""
        slope = np.matmul(step[:, None, :], jacobian)[:, 0, :]
        curve: Array = second_along(self.terms, jacobian, step) - slope * slope
        return curve

    def solve(
        self,
        start: Array,
        *,
        maps: MapBatch | None = None,
        weights: Array | None = None,
        max_iterations: int = 200,
        gradient_tolerance: float = GRADIENT_TOLERANCE,
    ) -> Solutions:
        """Solve from every row of ``start`` (batch, params).

        Parameters
        ----------
        maps
            One constraint map per problem, ``None`` for the problem's own.
        weights
            (batch, runs) weights per problem (resampling), ``None`` for the problem's own.
        """
        return levmar(
            self,
            start,
            maps=maps or MapBatch.shared(self.map),
            weights=self.weights if weights is None else weights,
            lower=self.lower,
            upper=self.upper,
            step_limit=self.step_limit,
            max_iterations=max_iterations,
            gradient_tolerance=gradient_tolerance,
        )
