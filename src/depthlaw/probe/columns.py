"""What is measured of every token: names, units, layers, and how finely their distributions are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Edges = NDArray[np.float64]

_ANGLE = np.linspace(0, np.pi, 629)  # 0.005 rad
_NORM = np.geomspace(1e-4, 1e8, 481)  # 6 %
_SHARE = np.geomspace(1e-4, 1e4, 321)  # 6 %
_COVERED = np.linspace(-1, 2, 601)
_NATS = np.linspace(0, 30, 601)


@dataclass(frozen=True)
class Quantity:
    """One quantity of a token.

    Attributes
    ----------
    name
        Its column.
    unit
        ``rad``, ``nats`` or ``1``.
    meaning
        What entry ``l`` is, in one line.
    edges
        Of the histogram kept of each entry.
    first_layer
        The ``l`` of the first entry, given the depth; 0 but for single numbers about the last state.
    """

    name: str
    unit: str
    meaning: str
    edges: Edges
    first_layer: Callable[[int], int] = lambda depth: 0


_PUBLISHED = (
    "theta_state",
    "theta_update",
    "theta_final",
    "norm_state",
    "norm_update",
    "projection",
    "lens_ce",
)


def _all() -> dict[str, Quantity]:
    known = [
        Quantity("theta_state", "rad", "angle between h_l and h_{l+1}", _ANGLE),
        Quantity("theta_update", "rad", "angle between Δh_l and Δh_{l+1}", _ANGLE),
        Quantity("theta_final", "rad", "angle between h_l and the last state", _ANGLE),
        Quantity("norm_state", "1", "norm of h_l", _NORM),
        Quantity("norm_update", "1", "norm of Δh_l", _NORM),
        Quantity("relative_update", "1", "norm of Δh_l over norm of h_l", _SHARE),
        Quantity("projection", "1", "share of the way from h_0 to the last state", _COVERED),
        Quantity("lens_ce", "nats", "cross-entropy of the next token read at h_l", _NATS),
        Quantity("lens_entropy", "nats", "entropy of the prediction read at h_l", _NATS),
        Quantity("lens_kl", "nats", "KL(final prediction ‖ prediction read at h_l)", _NATS),
    ]
    last: Callable[[int], int] = lambda depth: depth - 1  # noqa: E731
    end: Callable[[int], int] = lambda depth: depth  # noqa: E731
    known += [
        Quantity(
            "theta_middle",
            "rad",
            "mean of theta_state without the first and the last",
            _ANGLE,
            lambda _: 1,
        ),
        Quantity(
            "theta_state_normed",
            "rad",
            "last angle, with the last state after the final norm",
            _ANGLE,
            last,
        ),
        Quantity("norm_state_normed", "1", "norm of the last state after the final norm", _NORM, end),
    ]
    paper = [
        Quantity(f"paper_{q.name}", q.unit, f"{q.meaning}, published numerics", q.edges, q.first_layer)
        for q in known
        if q.name in _PUBLISHED
    ]
    return {quantity.name: quantity for quantity in known + paper}


QUANTITIES: Mapping[str, Quantity] = _all()
"""Every quantity by name, in the order in which tables list them."""

TOKEN_UNITS = {
    "document": "1",
    "document_id": "1",
    "position": "tokens",
    "token_id": "1",
    "is_first": "1",
    "is_special": "1",
}
"""Units of the columns that say which token a row is."""


def units(names: Mapping[str, object] | list[str]) -> dict[str, str]:
    """Return the unit of every column of a token table with the quantities ``names``."""
    return TOKEN_UNITS | {name: QUANTITIES[name].unit for name in names}
