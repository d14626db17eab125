"""A report on disk: page, JSON and Markdown."""

from __future__ import annotations

from pathlib import Path

from depthlaw.data.files import write_file
from depthlaw.data.jsonio import json_text
from depthlaw.errors import OutputError
from depthlaw.report.page.html import report_html
from depthlaw.report.page.markdown import report_markdown
from depthlaw.report.page.model import Report
from depthlaw.report.page.payload import MADE_BY, report_payload

PAGE, DATA, TABLE = "report.html", "report.json", "report.md"

_HEAD = 1000  # bytes within which each of the three says who wrote it


def write_report(report: Report, out: str | Path) -> Path:
    """Write the three files into a folder; the page comes last.

    Returns
    -------
    Path
        Of the page.

    Raises
    ------
    OutputError
        When a file cannot be written, or one of that name is there that another program wrote.
    """
    folder = Path(out)
    for name in (PAGE, DATA, TABLE):
        _refuse_foreign(folder / name)
    write_file(folder / TABLE, report_markdown(report).encode("utf-8", "replace"))
    write_file(folder / DATA, json_text(report_payload(report)).encode())
    write_file(folder / PAGE, report_html(report))
    return folder / PAGE


def _refuse_foreign(path: Path) -> None:
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return  # not there, or writing it will say what is wrong
    if head and MADE_BY.encode() not in head:
        raise OutputError(
            f"{path} is there, and depthlaw report did not write it.", "Choose another place (--out DIR)."
        )
