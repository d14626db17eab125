"""``depthlaw report``: one page of everything that a folder of runs holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.output import GROUP, TEXT, Format, note, write_stdout
from depthlaw.errors import ExitCode


def report_command(
    folder: Annotated[Path, Parameter(name="DIR")],
    /,
    *,
    output: Format = TEXT,
    out: Annotated[Path | None, Parameter(metavar="DIR", group=GROUP)] = None,
) -> int:
    """Write one page of a folder of runs: claims beside published numbers, figures with captions and data.

    The page (report.html) needs nothing else and no network. Beside it go report.json, the same for programs,
    and report.md, the claim table. What is wrong with a run is a warning on the page. Exits with 3 when
    no run can be read.

    Parameters
    ----------
    folder
        What another command's --out named, or a folder above several of those.
    out
        Folder to write into; by default DIR itself.
    """
    from depthlaw.report.page.gather import gather
    from depthlaw.report.page.payload import report_payload
    from depthlaw.report.page.sentences import lead
    from depthlaw.report.page.write import write_report

    report = gather(folder)
    page = write_report(report, folder if out is None else out)
    for warn in report.warnings:
        if warn.kind == "trouble":
            note(f"warning: {', '.join(warn.about)} {warn.message}")
    if output.json:
        note(f"wrote {page}")
        output.emit(report_payload(report), "")
    else:
        write_stdout(f"{' '.join(lead(report))}\n{page}\n")
    return ExitCode.DONE if report.sections else ExitCode.FAILED
