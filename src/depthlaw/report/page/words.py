"""Names of numbers, as the paper's reader says them."""

from __future__ import annotations

import re

_KNOWN = {
    "floor": "irreducible loss L₀",
    "mean_abs_rel_error": "mean relative error of the fit",
    "alpha_width": "width exponent α_m",
    "alpha_depth": "depth exponent α_ℓ",
    "alpha_tokens": "token exponent α_D",
}
_KINDS = {
    "alpha_": "depth exponent α_ℓ",
    "update_angle_": "angle between updates",
    "teacher_order_": "order of a teacher's convergence",
}
_SIZES = r"(\d+)(?:_(\d+))?([mb])"


def words(quantity: str) -> str:
    """Return what a number is, from the name that programs know it by.

    >>> words("alpha_depth_error"), words("p_clean_1_4b"), words("alpha_tied_coldest")
    ('standard error of the depth exponent α_ℓ', 'p(target), clean, 1.4b', 'depth exponent α_ℓ, tied coldest')
    """
    if quantity in _KNOWN:
        return _KNOWN[quantity]
    if quantity.endswith("_error"):
        return f"standard error of the {words(quantity.removesuffix('_error'))}"
    if quantity.endswith("_of_depth_less_2"):
        return f"{words(quantity.removesuffix('_of_depth_less_2'))}, depth counted as ℓ − 2"
    if found := re.fullmatch(rf"p_(clean|corrupt)_{_SIZES}", quantity):
        kind, whole, part, unit = found.groups()
        return f"p(target), {kind}, {whole}{f'.{part}' if part else ''}{unit}"
    for prefix, what in _KINDS.items():
        if quantity.startswith(prefix):
            return f"{what}, {quantity.removeprefix(prefix).replace('_', ' ')}"
    return quantity.replace("_", " ")
