"""What a laboratory run writes besides what training itself keeps: exponents, fingerprints, figures."""

from __future__ import annotations

from depthlaw.data.store import Run
from depthlaw.lab import exponents, fingerprints
from depthlaw.lab.result import LabResult
from depthlaw.plots.lab import figures


def write_results(
    run: Run,
    result: LabResult,
    found: exponents.Exponents,
    prints: fingerprints.Fingerprints,
    text: str,
) -> None:
    """Write text and figures, the tables ``exponents`` (every tested step), ``fingerprints``, ``layers``.

    Raises
    ------
    OutputError
        When a file cannot be written.
    """
    run.write_text("lab.txt", text)
    run.write_table("exponents.parquet", found.to_table(), exponents.UNITS)
    run.write_table("fingerprints.parquet", prints.students, fingerprints.UNITS)
    run.write_table("layers.parquet", prints.layers)
    for files in figures(result, found, prints).values():
        for name, data in files.items():
            run.write_bytes(name, data)
