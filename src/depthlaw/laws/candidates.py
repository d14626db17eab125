"""Forms to hold side by side: the one asked for, less one term each, and the plain law in parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from depthlaw.laws.form import Form
from depthlaw.numerics.terms import Array

NOMINAL = "nominal_params"
"""Scale of 12 width² depth: parameters of transformer blocks, embeddings left out."""


@dataclass(frozen=True)
class Candidate:
    """A form to compare, and what it is called."""

    name: str
    form: Form


def with_nominal_params(scales: Mapping[str, Array]) -> dict[str, Array]:
    """Add `NOMINAL` where width and depth are known."""
    if "width" not in scales or "depth" not in scales:
        return dict(scales)
    return {**scales, NOMINAL: 12.0 * scales["width"] ** 2 * scales["depth"]}


def default_candidates(form: Form, columns: Collection[str]) -> tuple[Candidate, ...]:
    """The forms that ``depthlaw compare`` holds against ``form`` when none are named.

    The form itself; without each of its terms; with depth − 2 where depth has no offset yet; the plain law
    in the table's parameter count and in 12 width² depth.
    """
    found = [Candidate(str(form), form)]
    if len(form.scales) > 1:
        for scale in form.scales:
            less = without(form, scale)
            found.append(Candidate(str(less), less))
    if "depth" in form.scales and not form.offsets.get("depth"):
        shifted = form.with_offsets({"depth": 2.0})
        found.append(Candidate(str(shifted), shifted))
    rest = tuple(s for s in form.scales if s not in ("width", "depth"))
    for params in ("params", NOMINAL):
        if params in columns and params not in form.scales:
            plain = Form((params, *rest), floor=form.floor)
            found.append(Candidate(str(plain).replace(NOMINAL, "12 width² depth"), plain))
    return tuple(found)


def without(form: Form, scale: str) -> Form:
    """The form less one term."""
    kept = tuple(s for s in form.scales if s != scale)

    def stays(name: str) -> bool:
        return name == "floor" or name.partition("_")[2] in kept

    return Form(
        scales=kept,
        floor=form.floor,
        offsets={s: offset for s, offset in form.offsets.items() if s in kept},
        fixed={n: v for n, v in form.fixed.items() if stays(n)},
        tied=tuple(pair for pair in form.tied if all(stays(n) for n in pair)),
    )


def largest_shapes(scales: Mapping[str, Array], share: float = 0.2) -> Array:
    """Mask (runs,) of the largest models: about ``share`` of the rows, whole shapes together.

    Size is the parameter count where there is one, else 12 width² depth, else the first scale.
    """
    sized = with_nominal_params(scales)
    size = sized.get("params", sized.get(NOMINAL, next(iter(scales.values()))))
    levels, counts = np.unique(size, return_counts=True)
    from_top = np.cumsum(counts[::-1])[::-1]
    chosen = levels[from_top <= max(share * len(size), counts[-1])]
    mask: Array = size >= chosen[0]
    return mask
