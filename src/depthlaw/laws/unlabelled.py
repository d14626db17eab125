"""Rows that are checkpoints of one run and do not say so: residuals of one shape then share an offset."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depthlaw.data.runs import RunTable
from depthlaw.errors import Notice
from depthlaw.laws.estimates import Evidence
from depthlaw.laws.form import scale_of
from depthlaw.numerics.terms import Array

SURE = 1e-3
"""Probability, were rows independent, below which residuals of a shape count as going together."""


def shapes_of(table: RunTable) -> NDArray[np.intp]:
    """(runs,) index of the shape of each row: rows of equal width, depth and parameters have one."""
    columns = [table.columns[name] for name in ("width", "depth", "params") if name in table.columns]
    if not columns:
        return np.arange(table.n_runs)
    return np.unique(np.stack(columns, 1), axis=0, return_inverse=True)[1].ravel().astype(np.intp)


def shared_offsets(table: RunTable, known: Evidence) -> tuple[Notice, ...]:
    """Say that rows of one shape do not stand for themselves, where the residuals show it.

    One-way analysis of variance of the log residuals by shape. The parameters of the shape (all but those
    of tokens) have taken their share of the variance between shapes, the others theirs within.
    """
    index = shapes_of(table)
    residual = known.bound.problem.residuals(known.optimum.params[None])[0][0]
    free = [name for name in known.bound.form.param_names if name not in known.bound.form.fixed]
    within = sum(scale_of(name) == "tokens" for name in free)
    n_shapes, n_rows = int(index.max()) + 1, len(residual)
    between_freedom = n_shapes - (len(free) - within)
    within_freedom = n_rows - n_shapes - within
    if known.near.exact or between_freedom < 1 or within_freedom < n_shapes:
        return ()
    share, probability = variance_by_group(residual, index, between_freedom, within_freedom)
    if probability >= SURE:
        return ()
    message = (
        f"residuals of one shape go together ({share:.0%} of their variance lies between {n_shapes} shapes): "
        "rows are checkpoints of one run, or the form misses the shapes; intervals that take rows as "
        "independent are too narrow (--cluster COLUMN names the run, --errors shapes counts shapes)"
    )
    return (Notice("rows-share-shapes", message),)


def variance_by_group(
    values: Array, index: NDArray[np.intp], between_freedom: int, within_freedom: int
) -> tuple[float, float]:
    """Share of the variance of ``values`` (rows,) between groups, and the probability of the F test.

    Parameters
    ----------
    index
        (rows,) group of each row, from 0 without gaps.
    """
    size = np.bincount(index)
    means = np.bincount(index, values) / size
    between = float(size @ (means - values.mean()) ** 2)
    within = float(np.sum((values - means[index]) ** 2))
    if within == 0.0:
        return 1.0, 0.0
    ratio = (between / between_freedom) / (within / within_freedom)
    return between / (between + within), float(special.fdtrc(between_freedom, within_freedom, ratio))
