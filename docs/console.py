"""The commands shown in README.md and the pages are run, and what they print is what the pages say.

Four kinds of blocks run, those of a page in their order and in one folder:

- ```` ```console ````: commands after ``$ `` and, below each, its whole output. A line ``…`` stands for any
  lines, the figure after "scaled gradient" may differ (it is rounding), and ``$ echo $?`` is the exit code of
  the command before.
- ```` ```sh ````: a command a line, which must succeed.
- ```` ```pycon ````: a session, whose output must be as shown.
- ```` ```python ````: code, which must run.

A block below a comment ``<!-- not run: REASON -->`` is not run.

    python docs/console.py        # run all console blocks and write what they print into the pages

Blocks that read a table in ``runs/`` run where $DEPTHLAW_DATA has it. Blocks with ``…`` are compared by the
tests but not rewritten.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from depthlaw.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODEL = "stories260K"
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?"
    r"```(?P<kind>console|sh|pycon|python)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """A command and the output that the page shows for it."""

    command: str
    shown: str


@dataclass(frozen=True)
class Block:
    """One block of a page, with its text between the fences and why it is not run, if it is not."""

    page: Path
    line: int
    kind: str
    text: str
    not_run: str = ""

    @property
    def name(self) -> str:
        """Where it stands, as ``docs/start.md:12``."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def steps(self) -> list[Step]:
        """The commands of a console block, in order."""
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [Step(*part.partition("\n")[::2]) for part in parts]

    def commands(self) -> list[list[str]]:
        """The words of every command of an sh block, in order."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]

    def standing_in(self, stand_ins: dict[str, str]) -> Block:
        """Return the block with every key of ``stand_ins`` replaced by its value."""
        text = self.text
        for shown, run in stand_ins.items():
            text = text.replace(shown, run)
        return replace(self, text=text)


def blocks(page: Path) -> list[Block]:
    """Return every block of a page that could run."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, match.start("kind")) + 1,
            match["kind"],
            match["text"],
            match["reason"] or "",
        )
        for match in _BLOCK.finditer(text)
    ]


@contextlib.contextmanager
def workplace(data: Path | None, models: Path | None = None) -> Iterator[Path]:
    """Change into a fresh folder with ``examples`` and what else the pages name.

    Parameters
    ----------
    data
        Brings ``runs/``, and ``notes.jsonl`` (four documents) and ``known_facts.json``.
    models
        Brings ``my-model``, which is the model `MODEL` there.
    """
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        Path("examples").symlink_to(ROOT / "examples")
        if data is not None:
            Path("runs").symlink_to(data / "runs")
            Path("known_facts.json").symlink_to(data / "text" / "known_facts_200.json")
            with (data / "text" / "web_c4.jsonl").open(encoding="utf-8") as lines:
                Path("notes.jsonl").write_text("".join(next(lines) for _ in range(4)), encoding="utf-8")
        if models is not None:
            Path("my-model").symlink_to(models / MODEL)
        yield Path(scratch)


def outputs(block: Block) -> Iterator[tuple[Step, str]]:
    """Run the commands of a console block in the current folder; yields each with what it printed."""
    code = 0
    for step in block.steps():
        words = shlex.split(step.command)
        if words == ["echo", "$?"]:
            yield step, f"{code}\n"
        elif words[0] == "head":
            count, path = int(words[1].removeprefix("-")), Path(words[2])
            yield step, "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:count])
        elif words[0] == "depthlaw":
            code, text = run(words[1:])
            yield step, tidy(text)
        else:
            raise ValueError(f"{block.name}: cannot run {words[0]}")


def run(words: list[str]) -> tuple[int, str]:
    """Run depthlaw in this process; returns its exit code and all that it printed."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = main(words)
    return code, text.getvalue()


def failure(block: Block, names: dict[str, object]) -> str:
    """Run a block in the current folder; returns what is wrong with it, or nothing.

    Parameters
    ----------
    names
        What the Python blocks before it have defined; this one adds to it.
    """
    if block.kind == "console":
        wrong = [f"$ {step.command}\n{got}" for step, got in outputs(block) if not agrees(step.shown, got)]
        return "\n".join(wrong)
    if block.kind == "sh":
        done = [(words, *run(words[1:])) for words in block.commands() if words[0] == "depthlaw"]
        return "\n".join(f"$ {shlex.join(words)}\n{text}exit {code}" for words, code, text in done if code)
    if block.kind == "pycon":
        said = io.StringIO()
        session = doctest.DocTestParser().get_doctest(block.text, names, block.name, block.name, block.line)
        doctest.DocTestRunner().run(session, out=said.write, clear_globs=False)
        names |= session.globs
        return said.getvalue()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.text, block.name, "exec"), names)
    return ""


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


def rewrite(page: Path, data: Path | None) -> None:
    """Put the present output of every command into a page."""
    with workplace(data):
        for block in blocks(page):
            if block.kind != "console" or block.not_run:
                continue
            if data is None and "runs/" in block.text:
                print(f"{block.name}: left as it is, set DEPTHLAW_DATA")
                continue
            ran = list(outputs(block))
            stale = [step.command for step, printed in ran if not agrees(step.shown, printed)]
            if not stale:
                continue
            if "\n…\n" in block.text:
                print(f"{block.name}: differs, and has to be mended by hand: {'; '.join(stale)}")
                continue
            text = "".join(f"$ {step.command}\n{printed}" for step, printed in ran)
            whole = page.read_text(encoding="utf-8")
            page.write_text(whole.replace(f"```console\n{block.text}```", f"```console\n{text}```"), "utf-8")
            print(f"{block.name}: rewritten")


if __name__ == "__main__":
    root = os.environ.get("DEPTHLAW_DATA")
    for path in PAGES:
        rewrite(path, Path(root).resolve() if root else None)
