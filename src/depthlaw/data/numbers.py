"""Cells of a table → float64, with the reason wherever a cell holds no number.

What people write is read as they mean it: thousands commas (``1,234,567``), underscores (``1_000``) and,
for counts, the suffixes of the field: ``350M`` parameters, ``300B`` tokens. A suffix is read rather than
refused because in a column of parameters, tokens or FLOP it has one meaning; it is said in a notice,
because such numbers are rounded. A single comma may be a decimal mark (``3,145``) in a file whose cells are
separated by ``;``, and in any file where the quantity is no count (a loss of ``5,770`` is rather 5.77 than
5770), the number begins with 0, or an exponent follows (``1,234e18``). Nothing is guessed: the cell is
reported, unless another cell decides (``4,23903`` cannot be thousands) or the caller says it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.raw import Cells

UNCLEAR = "unclear: decimal comma or thousands?"
_MISSING = {"", "na", "n/a", "<na>", "null", "none", "nil", "-", "--", "."}
_ONE_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?")
_DOTTED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")  # thousands where the comma is a decimal mark
_COMMA_ONLY = re.compile(r"[+-]?(0\d*,\d+|\d+,(\d{1,2}|\d{4,}))([eE][+-]?\d+)?")
_DOT_ONLY = re.compile(r"[+-]?(\d*\.(\d{1,2}|\d{4,})([eE][+-]?\d+)?|\d{1,3}(,\d{3}){2,}|[\d,]+,\d{3}\.\d*)")
_SUFFIXED = re.compile(r"([+]?[\d.,]+)\s*([kKmMbBtT])")
_FACTOR = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers.

    Attributes
    ----------
    values
        (rows,), NaN where the cell holds no number; infinities are kept.
    faults
        Row → why there is no number: ``"missing"``, ``"NaN"``, ``'not a number ("abc")'``.
    suffixed
        Rows whose number was written with a suffix (K, M, B, T).
    """

    values: NDArray[np.float64]
    faults: dict[int, str]
    suffixed: tuple[int, ...] = ()

    def select(self, keep: NDArray[np.bool_]) -> Numbers:
        """Return the rows where ``keep`` (rows,) is true."""
        new_row = (np.cumsum(keep) - 1).tolist()
        faults = {new_row[row]: why for row, why in self.faults.items() if keep[row]}
        return Numbers(self.values[keep], faults, tuple(new_row[row] for row in self.suffixed if keep[row]))

    def times(self, factor: float) -> Numbers:
        """Return the numbers in units, where they are multiples of ``factor``.

        Cells with a suffix of their own (``7B``) are in units already, and so is a column whose numbers all
        reach ``factor``: nobody trains on a billion billions.
        """
        known = self.values[np.isfinite(self.values)]
        if factor == 1.0 or (len(known) and known.min() >= factor):
            return self
        values = self.values * factor
        values[list(self.suffixed)] = self.values[list(self.suffixed)]
        return Numbers(values, self.faults, self.suffixed)


def to_numbers(
    cells: Cells,
    *,
    counts: bool = False,
    suffixes: bool = False,
    semicolons: bool = False,
    decimal: str | None = None,
) -> Numbers:
    """Read a column as numbers.

    Parameters
    ----------
    cells
        (rows,), of any dtype.
    counts
        Whether these are counts, such that ``5,770`` is 5770 (widths, depths, tokens) and not perhaps 5.77.
    suffixes
        Whether ``7B`` means 7e9 here (counts) or is not a number (widths, depths, losses).
    semicolons
        Whether the cells were separated by ``;``, so that ``3,145`` is unclear.
    decimal
        The decimal mark, ``","`` or ``"."``, where it is known.
    """
    if cells.dtype.kind in "iuf":
        values = cells.astype(np.float64)
        return Numbers(values, {int(row): "NaN" for row in np.flatnonzero(np.isnan(values))})
    thousands = (counts and not semicolons) or decimal == "."
    values = np.full(len(cells), np.nan)
    faults: dict[int, str] = {}
    suffixed: list[int] = []
    for row, cell in enumerate(cells):
        if decimal == ",":
            cell = _with_dot(cell, counts)
        number, why = _number(cell, thousands)
        if why is not None and suffixes and isinstance(cell, str) and (found := _SUFFIXED.fullmatch(cell)):
            number, why = _number(found[1], thousands)
            number *= _FACTOR[found[2].lower()]
            suffixed.append(row)
        values[row] = number
        if why is not None:
            faults[row] = why
    return Numbers(values, faults, tuple(suffixed))


def decimal_marks(cells: Mapping[str, Cells], *, together: bool) -> dict[str, str]:
    """Find the columns whose comma is a decimal mark: header → ``","``.

    Those where a number has a comma that cannot stand before thousands (``4,23903``, ``0,770``), and none
    has a point or commas that cannot be read so (``4.2``, ``1,234,567``).

    Parameters
    ----------
    together
        Whether one column decides for all, as in a file whose cells are separated by ``;``.
    """
    comma: dict[str, bool] = {}
    for header, column in cells.items():
        if column.dtype != object:
            continue
        texts = [cell for cell in column if isinstance(cell, str) and ("," in cell or "." in cell)]
        if any(_DOT_ONLY.fullmatch(text) for text in texts):
            comma[header] = False
        elif any(_COMMA_ONLY.fullmatch(text) for text in texts):
            comma[header] = True
    if together:
        return dict.fromkeys(cells, ",") if comma and all(comma.values()) else {}
    return {header: "," for header, found in comma.items() if found}


def _with_dot(cell: Any, counts: bool) -> Any:
    """A cell written with a decimal comma as Python writes it; what is no such number as it is."""
    if not isinstance(cell, str):
        return cell
    if _DOTTED.fullmatch(cell) and (counts or "," in cell):
        cell = cell.replace(".", "")
    return cell.replace(",", ".") if cell.count(",") == 1 and "." not in cell else cell


def _number(cell: Any, thousands: bool) -> tuple[float, str | None]:
    """Return (number, None), or (NaN, why there is none)."""
    if is_missing(cell):
        return np.nan, "missing"
    if isinstance(cell, str):
        if "," in cell:
            certain = thousands and _THOUSANDS.fullmatch(cell) and not re.search(r"^[+-]?0|[eE]", cell)
            if _ONE_COMMA.fullmatch(cell) and not certain:
                return np.nan, f"{UNCLEAR} ({shown(cell)})"
            if not _THOUSANDS.fullmatch(cell):
                return np.nan, f"not a number ({shown(cell)})"
            cell = cell.replace(",", "")
    elif isinstance(cell, bool | np.bool_ | bytes | complex):  # float(True) is 1.0: not what a loss is
        return np.nan, f"not a number ({shown(cell)})"
    try:
        number = float(cell)
    except OverflowError:
        return np.inf, None
    except (TypeError, ValueError):
        return np.nan, f"not a number ({shown(cell)})"
    return number, "NaN" if number != number else None


def is_missing(cell: Any) -> bool:
    """Say whether a cell holds nothing: absent, empty, or one of the usual words for it."""
    if isinstance(cell, str):
        return cell.strip().casefold() in _MISSING
    # pandas.NA and NaT, without importing pandas to ask
    return cell is None or cell is np.ma.masked or type(cell).__name__ in ("NAType", "NaTType")


def labels(cells: Cells) -> NDArray[np.str_]:
    """Read a column as text, (rows,), empty where missing; 3.0 and 3 are the same label ``"3"``."""
    return np.array([_label(cell) for cell in cells], dtype=np.str_)


def _label(cell: Any) -> str:
    if is_missing(cell) or (isinstance(cell, float | np.floating) and cell != cell):
        return ""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell).strip()


def shown(cell: Any) -> str:
    """Return a cell as it appears in a message: quoted when text, at most 24 characters, one line."""
    text = " ".join(str(cell).split())
    text = text if len(text) <= 24 else f"{text[:23]}…"
    return f'"{text}"' if isinstance(cell, str) else text
