"""Tables and numbers as plain text: aligned for a terminal, or as Markdown.

Nothing here knows how wide a terminal is: a table is as wide as it is, and a pipe gets what a screen gets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.cells import cell_len

NONE = "—"
"""What stands where there is no value."""


WIDE = 10.0
"""Ratio of the ends of an interval from which each is written with its own digits."""


def number(value: float | None, stderr: float | None = None, *, digits: int = 4) -> str:
    """Write a number with the digits it deserves.

    Parameters
    ----------
    value
        ``None`` and NaN give a dash. Whole numbers (``int``) are counts, and exact.
    stderr
        Its standard error: the value ends where the error has its second digit, so 1.32513 ± 0.17 is
        ``1.33``. ``None``, zero or infinite when there is none.
    digits
        Significant digits without a standard error, and at most two more with one.
    """
    if value is None or math.isnan(value):
        return NONE
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    if stderr is None or not 0 < stderr < math.inf:
        return _significant(value, digits)
    return _significant(value, min(_exponent(value) - _exponent(stderr) + 2, digits + 2))


def amount(value: float | None) -> str:
    """Write a scale: whole numbers up to a million as such, others with four digits.

    >>> amount(32.0), amount(83.28), amount(1e12)
    ('32', '83.28', '1.000e12')
    """
    if value is not None and abs(value) < 1e6 and value == round(value):
        return str(int(value))
    return number(value)


def interval(low: float | None, high: float | None) -> str:
    """Write an interval as ``[0.93, 1.74]``: to the decimal that gives half its width two digits."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return NONE
    half = (high - low) / 2
    if not 0 < half < math.inf:
        return f"[{number(low)}, {number(high)}]"
    if low > 0 and high > WIDE * low:  # decimals that suit one end would hide the other
        return f"[{number(low, digits=2)}, {number(high, digits=2)}]"
    place = 1 - _exponent(half)
    if place > 6 or max(-low, high) >= 1e6:
        return f"[{number(low, half)}, {number(high, half)}]"
    ends = [round(end, place) + 0.0 for end in (low, high)]  # + 0.0 makes a 0 of -0
    return f"[{', '.join(f'{end:.{max(place, 0)}f}' for end in ends)}]"


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Align cells in columns, two spaces apart; columns of numbers are flush right.

    Parameters
    ----------
    rows
        Cells as text (see `number`), every row of the same length.
    header
        Column titles, underlined; empty for none.

    Returns
    -------
    str
        Lines with a final newline, without trailing spaces; empty for no rows and no header.

    Raises
    ------
    ValueError
        For rows of different lengths.
    """
    right, widths = _layout(rows, header)
    lines = [_line(header, right, widths), "  ".join("-" * width for width in widths)] if header else []
    lines += [_line(row, right, widths) for row in rows]
    return "".join(f"{line}\n" for line in lines)


def markdown(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Write the same table as Markdown, aligned in the source too.

    Raises
    ------
    ValueError
        For rows of different lengths, or a header of another length.
    """
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    right, widths = _layout(rows, header)
    widths = [max(width, 3) for width in widths]
    rule = [
        "-" * (width - 1) + ":" if flush else "-" * width for flush, width in zip(right, widths, strict=True)
    ]
    body = [_cells(header, right, widths), rule, *(_cells(row, right, widths) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in body)


def _exponent(value: float) -> int:
    """Return the power of ten of the first digit."""
    return int(f"{value:e}".partition("e")[2])


def _significant(value: float, digits: int) -> str:
    """Round to ``digits`` significant digits, at least one; with a power of ten if very large or small."""
    places = max(digits, 1) - 1
    rounded = f"{value:.{places}e}"
    mantissa, _, power = rounded.partition("e")
    exponent = int(power)
    if -5 <= exponent < 6:
        return f"{float(rounded):.{max(places - exponent, 0)}f}"
    return f"{mantissa}e{exponent}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in ("", NONE)
    return True


def _layout(rows: Sequence[Sequence[str]], header: Sequence[str]) -> tuple[list[bool], list[int]]:
    everything = [header, *rows] if header else list(rows)
    columns = list(zip(*everything, strict=True))
    body = list(zip(*rows, strict=True)) or [()] * len(columns)
    right = [any(cell not in ("", NONE) for cell in cells) and all(map(_is_number, cells)) for cells in body]
    return right, [max(map(cell_len, cells)) for cells in columns]


def _cells(row: Sequence[str], right: Sequence[bool], widths: Sequence[int]) -> list[str]:
    # Not str.ljust: Greek and CJK text may take another number of columns than of characters.
    padding = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
    return [pad + cell if flush else cell + pad for cell, pad, flush in zip(row, padding, right, strict=True)]


def _line(row: Sequence[str], right: Sequence[bool], widths: Sequence[int]) -> str:
    return "  ".join(_cells(row, right, widths)).rstrip()
