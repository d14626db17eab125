"""Rows that no law can be fitted to: found, named by their place and reason, or dropped and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.numbers import Numbers
from depthlaw.errors import InputError

_NAMED = 6  # rows described one by one in a message; the others are counted

BadRows = dict[int, list[tuple[str, str]]]  # row → (header, reason) of each of its faults; ("", …): the whole


def find_bad_rows(
    quantities: Mapping[str, Numbers],
    weights: tuple[str, Numbers] | None,
    clusters: tuple[str, NDArray[np.str_]] | None,
    faults: Mapping[int, str],
) -> BadRows:
    """Find the rows that cannot be used.

    Parameters
    ----------
    quantities
        Header → numbers (rows,), each of which must be finite and positive.
    weights
        Header and numbers (rows,), which must be finite and not negative.
    clusters
        Header and labels (rows,), none of which may be empty.
    faults
        Row → why it could not be read at all.
    """
    bad: BadRows = {row: [("", why)] for row, why in faults.items()}

    def note(header: str, row: int, why: str) -> None:
        if row not in faults:  # the row is ragged or not JSON: that its cells are missing follows from it
            bad.setdefault(row, []).append((header, why))

    for header, numbers in quantities.items():
        for row in np.flatnonzero(~(np.isfinite(numbers.values) & (numbers.values > 0))).tolist():
            note(header, row, numbers.faults.get(row) or _reason(numbers.values[row]))
    if weights is not None:
        header, numbers = weights
        for row in np.flatnonzero(~(np.isfinite(numbers.values) & (numbers.values >= 0))).tolist():
            note(header, row, numbers.faults.get(row) or _reason(numbers.values[row]))
    if clusters is not None:
        header, labels = clusters
        for row in np.flatnonzero(labels == "").tolist():
            note(header, row, "missing")
    return dict(sorted(bad.items()))


def _reason(value: float) -> str:
    if np.isinf(value):
        return "infinite"
    return "zero" if value == 0 else f"negative ({value:g})"


def bad_rows_error(bad: BadRows, n_rows: int, source: str, place: Callable[[int], str]) -> InputError:
    """Build the error that names the first bad rows by place and reason, and the others by place.

    Parameters
    ----------
    place
        Row → where it stands in the source (``"line 5"``).
    """
    named = [f"{place(row)} {_described(faults)}" for row, faults in list(bad.items())[:_NAMED]]
    more = [place(row) for row in list(bad)[_NAMED:]]
    if more:
        listing = ", ".join(more[:8]) + (", …" if len(more) > 8 else "")
        named.append(f"and {len(more)} more ({listing})")
    way_out = "Mend them, or leave them out with --drop-bad (drop_bad=True)."
    if len(bad) == n_rows:
        way_out = "No row is left to fit. Mend them, or read other columns: --loss COLUMN, --width COLUMN, …"
    return InputError(f"{source}: {len(bad)} of {n_rows} rows cannot be used:\n{', '.join(named)}.", way_out)


def _described(faults: list[tuple[str, str]]) -> str:
    return " and ".join(f"{header} {why}".strip() for header, why in faults[:3])


def counted(bad: BadRows) -> str:
    """Say how many rows are bad for each reason, each row under its first: ``"loss: 2 zero, 1 missing"``."""
    by_header: dict[str, Counter[str]] = {}
    for faults in bad.values():
        header, why = faults[0]
        by_header.setdefault(header, Counter())[why.split(" (")[0] if header else "unreadable"] += 1
    parts = []
    for header, reasons in by_header.items():
        listing = ", ".join(f"{count} {why}" for why, count in reasons.most_common())
        parts.append(f"{header}: {listing}" if header else listing)
    return "; ".join(parts)
