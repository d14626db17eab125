"""Scales that cannot be what they are taken for: logarithms, billions, fractions of a block, swapped columns.

Each check returns one notice, or ``None``; none changes a number.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from depthlaw.errors import Notice

Column = NDArray[np.float64]

LOGARITHMS = {"tokens": (6.0, 14.0), "params": (4.0, 13.0), "flops": (12.0, 28.0)}
"""log10 of what runs of language models have, least and most."""
FEWEST = {"tokens": 1e6, "params": 1e4}
"""What no run falls below in all rows of a table; counts in millions or billions do."""


def scale_notices(columns: Mapping[str, Column], sources: Mapping[str, str]) -> tuple[Notice, ...]:
    """Return every notice about the scales of a table.

    Parameters
    ----------
    columns
        Our name → (runs,); unchecked columns may hold NaN.
    sources
        Our name → header.
    """
    known = {name: values[np.isfinite(values)] for name, values in columns.items()}
    known = {name: values for name, values in known.items() if len(values)}
    found = [_small(name, known[name], sources.get(name, name)) for name in LOGARITHMS if name in known]
    found += [_not_whole(name, known[name]) for name in ("width", "depth") if name in known]
    found += [_swapped(columns)]
    return tuple(notice for notice in found if notice is not None)


def _small(name: str, values: Column, header: str) -> Notice | None:
    """Counts that are too small to be counts: logarithms if they lie as such do, else multiples."""
    low, high = float(values.min()), float(values.max())
    span = f"{name} run from {low:g} to {high:g}"
    least, most = LOGARITHMS[name]
    whole = bool((values == np.round(values)).all())
    if least <= low < high <= most and not whole:
        message = (
            f"{span}, as logarithms do (base 10): if so, fit 10 to their power; "
            "no exponent of a logarithm means anything"
        )
        return Notice("looks-like-logarithms", message)
    if name not in FEWEST or high >= FEWEST[name]:
        return None
    if header == "D":
        message = f'{span}, few for tokens: if "D" is the width (d_model), say --width D'
    else:
        message = (
            f"{span}, as if counted in millions or billions: if so, exponents and floor do not change with "
            f"that, c_{name} and plans do"
        )
    if name == "tokens":
        return Notice("tokens-in-billions", message)
    return Notice("params-in-billions", message)


def _not_whole(name: str, values: Column) -> Notice | None:
    broken = values[values != np.round(values)]
    if not len(broken):
        return None
    message = (
        f"{len(broken)} of {len(values)} values of {name} are not whole, such as {broken[0]:g}: "
        f"a point that stands before thousands, or another quantity than {name}"
    )
    return Notice("scale-not-whole", message)


def _swapped(columns: Mapping[str, Column]) -> Notice | None:
    """Transformers are tens to hundreds of times wider than deep; a table of the contrary is swapped."""
    if not {"width", "depth"} <= columns.keys():
        return None
    with np.errstate(invalid="ignore"):
        if not (columns["width"] < columns["depth"]).all() or not columns["depth"].max() >= 256:
            return None
    message = (
        f"every model is deeper than wide (depth up to {columns['depth'].max():g}, width up to "
        f"{columns['width'].max():g}): the two columns look swapped"
    )
    return Notice("width-depth-swapped", message)
