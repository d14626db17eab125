"""Folders of runs, made without running anything: experiments with an outcome, runs of other commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from depthlaw.data.store import open_run
from depthlaw.reproduce.keeping import write_outcome
from depthlaw.reproduce.outcome import Correction, Outcome, OutcomeFigure, OutcomeTable, compare
from depthlaw.reproduce.paper import Published

SVG = b"""<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 72 36">
 <defs><path id="dot" d="M 0 0 L 1 1"/></defs>
 <clipPath id="window"><rect x="0" y="0" width="72" height="36"/></clipPath>
 <g clip-path="url(#window)"><use xlink:href="#dot" x="3" style="fill: #1f3b73"/></g>
</svg>"""

ALPHA = compare("alpha_depth", Published(1.2, "Fig. 2f", 1.0, error=0.3), 1.325, 0.287)


def outcome_of(name: str = "fig2f", **more: object) -> Outcome:
    """A whole outcome: a number, a defect, a figure with its table, a table that is not to be passed on."""
    rows = pa.table({"depth": [4, 8, 16], "term": [0.5, 0.25, 0.125]})
    units = {"depth": "blocks", "term": "nats per token"}
    parts: dict[str, object] = {
        "title": "Loss against depth",
        "input": "3 runs",
        "comparisons": (ALPHA,),
        "corrections": (Correction("It stops early.", 3.1e-5, 3.0e-5, "nats²"),),
        "statements": ("The depth exponent alpha_depth is near one.",),
        "figures": {
            name: OutcomeFigure({f"{name}.svg": SVG}, "What is left of the loss.", ("curve.parquet",))
        },
        "tables": {
            "curve.parquet": OutcomeTable(rows, units),
            "secret.parquet": OutcomeTable(rows, units, redistribute=False),
        },
        "notices": ("Many losses are equal.",),
    }
    return Outcome(name, **(parts | more))  # type: ignore[arg-type]


@pytest.fixture
def keep() -> Callable[..., Path]:
    """Keep an outcome as `depthlaw reproduce` does, in the folder of its id below ``root``."""

    def kept(root: Path, outcome: Outcome | None = None, *, scale: str = "smoke") -> Path:
        outcome = outcome_of() if outcome is None else outcome
        folder = root / outcome.id
        config = {"experiment": outcome.id, "scale": scale}
        with open_run(folder, verb="reproduce", config=config) as run:
            write_outcome(run, outcome)
        return folder

    return kept


@pytest.fixture
def run_of() -> Callable[..., Path]:
    """Make a run of another command: its text, figures and tables."""

    def made(
        folder: Path,
        *,
        verb: str = "fit",
        text: str = "loss = 1\n",
        figures: Sequence[str] = ("parts",),
        svg: bytes = SVG,
        tables: Sequence[str] = ("parts_depth.parquet", "rows.parquet"),
        rows: int = 3,
    ) -> Path:
        with open_run(folder, verb=verb, config={"seed": 0}, units={"depth": "blocks"}) as run:
            run.write_text(f"{verb}.txt", text)
            for name in figures:
                run.write_bytes(f"{name}.svg", svg)
            for name in tables:
                run.write_table(name, pa.table({"depth": [float(k) for k in range(rows)]}))
        return folder

    return made


class Parsed(HTMLParser):
    """A page as a browser sees it: its elements with their attributes, and its text."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join(self.text.split())
