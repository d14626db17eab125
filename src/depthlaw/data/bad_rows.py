"""Rows that no law can be fitted to: found, named by their place and reason, or dropped and counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.numbers import UNCLEAR, Numbers
from depthlaw.errors import InputError

_FEWEST_ROWS = 3  # from which a fault of all rows is one of the column
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
    if columns := _whole_columns(bad, n_rows, place):
        return InputError(
            f"{source}: {n_rows} of {n_rows} rows cannot be used:\n{'; '.join(columns)}.", _way_out(columns)
        )
    named = [f"{place(row)} {_described(faults)}" for row, faults in list(bad.items())[:_NAMED]]
    more = [place(row) for row in list(bad)[_NAMED:]]
    if more:
        listing = ", ".join(more[:8]) + (", …" if len(more) > 8 else "")
        named.append(f"and {len(more)} more ({listing})")
    way_out = "Mend them, or leave them out with --drop-bad (drop_bad=True)."
    if any(UNCLEAR in why for faults in bad.values() for _, why in faults):
        way_out = _SAY_DECIMAL
    elif len(bad) == n_rows:
        way_out = "No row is left to fit. Mend them, or read other columns: --loss COLUMN, --width COLUMN, …"
    return InputError(f"{source}: {len(bad)} of {n_rows} rows cannot be used:\n{', '.join(named)}.", way_out)


_SAY_DECIMAL = 'Say which mark it is: --decimal , or --decimal . (decimal="," or decimal=".").'
_CAUSES = (  # what a cell holds beside a number, by a pattern of it
    (re.compile(r"%"), "per cent signs"),
    (re.compile(r"±|\+/?-"), "errors (±)"),
    (re.compile(r'"[^"]*\d[^"]*[A-Za-z]{2,}"'), "words"),
)


def _whole_columns(bad: BadRows, n_rows: int, place: Callable[[int], str]) -> list[str]:
    """Say the faults that a column has in every row, one sentence each; from three rows on."""
    if n_rows < _FEWEST_ROWS or len(bad) < n_rows:
        return []
    by_header: dict[str, list[tuple[int, str]]] = {}
    for row, faults in bad.items():
        for header, why in faults:
            by_header.setdefault(header, []).append((row, why))
    said = []
    for header, found in by_header.items():
        kinds = {why.split(" (")[0] for _, why in found}
        if not header or len(found) < n_rows or len(kinds) > 1:
            continue
        row, why = found[0]
        beside = next((words for pattern, words in _CAUSES if all(pattern.search(w) for _, w in found)), None)
        cause = f", {beside} stand beside the numbers" if beside else ""
        said.append(f"{header} is {why} in {place(row)} and all other rows{cause}")
    return said


def _way_out(columns: list[str]) -> str:
    if any(UNCLEAR in column for column in columns):
        return _SAY_DECIMAL
    if any("beside the numbers" in column for column in columns):
        return "No row is left to fit. Leave bare numbers in these columns."
    return "No row is left to fit. Mend them, or read other columns: --loss COLUMN, --width COLUMN, …"


def _described(faults: list[tuple[str, str]]) -> str:
    return " and ".join(f"{header} {why}".strip() for header, why in faults[:3])


def count_reasons(bad: BadRows) -> str:
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
