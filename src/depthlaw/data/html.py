"""How results look in a notebook: a title, a table, and what the reader must know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST_ROWS = 50


def result_html(
    title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = ()
) -> str:
    """Return a title, a table and notes below, as HTML.

    Parameters
    ----------
    rows
        Texts, numbers (four digits are shown), pairs of numbers (an interval) and ``None`` (a dash), as many
        as ``head`` has; of many rows the first `MOST_ROWS`.
    """
    rows = list(rows)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in rows[:MOST_ROWS]
    )
    more = [f"and {len(rows) - MOST_ROWS} more rows: to_table() has all"] if len(rows) > MOST_ROWS else []
    said = "".join(f"<li>{escape(note)}</li>" for note in [*more, *notes])
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    return (
        f"<div><b>{escape(title)}</b><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        f"{f'<ul>{said}</ul>' if said else ''}</div>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_cell, value))}]"
    return str(value)
