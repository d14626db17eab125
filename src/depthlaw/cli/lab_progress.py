"""How training shows itself on stderr: one bar a task on a terminal, else a plain line every 30 seconds."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from depthlaw.cli.progress import NowAndThen

if TYPE_CHECKING:
    from rich.progress import TaskID

    from depthlaw.lab.training import Progress, Task


@contextlib.contextmanager
def shown_progress() -> Iterator[Callable[[Progress], None]]:
    """Yield the function that training reports to."""
    if not sys.stderr.isatty():
        lines = NowAndThen()
        yield lambda progress: lines.say(lambda: _line(progress))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} steps/s"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[losses]}"),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        known: dict[Task, TaskID] = {}

        def show(progress: Progress) -> None:
            if progress.task not in known:
                words = f"{progress.number}/{progress.tasks} {_title(progress)}"
                known[progress.task] = bars.add_task(words, total=progress.steps, rate="", losses="")
            bars.update(
                known[progress.task],
                completed=progress.step,
                rate=f"{progress.rate:.3g}",
                losses=_losses(progress),
            )

        yield show


def _line(progress: Progress) -> str:
    left = (progress.steps - progress.step) / progress.rate if progress.rate > 0 else float("nan")
    return (
        f"{progress.number}/{progress.tasks} {_title(progress)}: step {progress.step}/{progress.steps}, "
        f"{progress.rate:.3g} steps/s, {left:.0f} s left, {_losses(progress)}"
    )


def _title(progress: Progress) -> str:
    return f"replica {progress.task.replica}, rho {progress.task.rho:g}"


def _losses(progress: Progress) -> str:
    """Give the losses of the shallowest and the deepest student of one temperature, and who has stopped."""
    keys = progress.keys
    first = [at for at, key in enumerate(keys) if key.temperature == keys[0].temperature]
    ends = (min(first, key=lambda at: keys[at].depth), max(first, key=lambda at: keys[at].depth))
    shown = [f"depth {keys[at].depth} loss {progress.losses[at]:.3g}" for at in dict.fromkeys(ends)]
    words = ", ".join(shown)
    gone = int((progress.stopped >= 0).sum())
    return f"{words}, {gone} diverged" if gone else words
