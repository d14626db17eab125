"""The commands shown in README.md and the pages are run, and what they print is what the pages say.

A ```` ```console ```` block holds commands after ``$ `` and, below each, its whole output. In it

- a line ``…`` stands for any lines,
- the figure after "scaled gradient" may differ (it is rounding),
- ``$ echo $?`` is the exit code of the command before.

    python docs/console.py        # run all blocks and write what they print into the pages

Blocks that read a table in ``runs/`` run where $DEPTHLAW_DATA has it. Blocks with ``…`` are compared by
the tests but not rewritten.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from depthlaw.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command and the output that the page shows for it."""

    command: str
    shown: str


@dataclass(frozen=True)
class Block:
    """One block of a page, with its text between the fences."""

    page: Path
    line: int
    text: str

    @property
    def name(self) -> str:
        """Where it stands, as ``docs/start.md:12``."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def needs_data(self) -> bool:
        """Whether it reads a table that is not part of the project."""
        return "runs/" in self.text

    def steps(self) -> list[Step]:
        """Its commands in order."""
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [Step(*part.partition("\n")[::2]) for part in parts]


def blocks() -> list[Block]:
    """Return every console block of every page."""
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1])
        for page in PAGES
        for text in [page.read_text(encoding="utf-8")]
        for match in _BLOCK.finditer(text)
    ]


@contextlib.contextmanager
def workplace(data: Path | None) -> Iterator[Path]:
    """Change into a fresh folder with ``examples`` and, where there is data, ``runs``."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        Path("examples").symlink_to(ROOT / "examples")
        if data is not None:
            Path("runs").symlink_to(data / "runs")
        yield Path(scratch)


def outputs(block: Block) -> Iterator[tuple[Step, str]]:
    """Run the commands of a block in the current folder; yields each with what it printed."""
    code = 0
    for step in block.steps():
        words = shlex.split(step.command)
        if words == ["echo", "$?"]:
            yield step, f"{code}\n"
        elif words[0] == "head":
            count, path = int(words[1].removeprefix("-")), Path(words[2])
            yield step, "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:count])
        elif words[0] == "depthlaw":
            text = io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                code = main(words[1:])
            yield step, tidy(text.getvalue())
        else:
            raise ValueError(f"{block.name}: cannot run {words[0]}")


def tidy(text: str) -> str:
    """Text as a page shows it: no spaces at line ends, no empty lines at the end."""
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).rstrip("\n") + "\n"


def agrees(shown: str, printed: str) -> bool:
    """Whether an output is what a page shows."""
    pattern = "".join(
        r"(?:.*\n)*?"
        if line == "…"
        else re.sub(r"(scaled\\ gradient\\ )[^,]+", r"\1\\S+", re.escape(line)) + r"\n"
        for line in tidy(shown).splitlines()
    )
    return re.fullmatch(pattern, printed) is not None


def rewrite() -> None:
    """Put the present output of every command into the pages."""
    root = os.environ.get("DEPTHLAW_DATA")
    data = Path(root).resolve() if root else None
    for block in blocks():
        if block.needs_data and data is None:
            print(f"{block.name}: left as it is, set DEPTHLAW_DATA")
            continue
        with workplace(data):
            ran = list(outputs(block))
        stale = [step.command for step, printed in ran if not agrees(step.shown, printed)]
        if not stale:
            continue
        if "\n…\n" in block.text:
            print(f"{block.name}: differs, and has to be mended by hand: {'; '.join(stale)}")
            continue
        text = "".join(f"$ {step.command}\n{printed}" for step, printed in ran)
        page = block.page.read_text(encoding="utf-8")
        block.page.write_text(page.replace(f"```console\n{block.text}```", f"```console\n{text}```"), "utf-8")
        print(f"{block.name}: rewritten")


if __name__ == "__main__":
    rewrite()
