"""Results in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def html(title: str, head: Sequence[str], rows: Sequence[Sequence[object]], notes: Sequence[str]) -> str:
    """Return a title, a table and notes below; numbers with three digits."""

    def cell(value: object) -> str:
        return escape(f"{value:.3g}" if isinstance(value, float) else str(value))

    body = "".join(f"<tr>{''.join(f'<td>{cell(value)}</td>' for value in row)}</tr>" for row in rows)
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f"<div><b>{escape(title)}</b><table><thead><tr>{''.join(f'<th>{escape(h)}</th>' for h in head)}</tr>"
        f"</thead><tbody>{body}</tbody></table>{f'<ul>{said}</ul>' if said else ''}</div>"
    )
