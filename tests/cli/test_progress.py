"""How far work is, said now and then, and nothing left behind on a terminal."""

from __future__ import annotations

import pytest

from depthlaw.cli import progress
from depthlaw.cli.progress import Counter

Printed = pytest.CaptureFixture[str]
FORM = "{} documents, {} tokens, {rate:.0f} tokens/s"


def test_plain_lines_every_30_seconds(capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.0, 10.0, 10.0, 40.0, 40.0, 41.0, 41.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with Counter(FORM) as tell:
        for documents in (1, 4, 5):
            tell(documents, 100 * documents)
    assert capsys.readouterr().err == "4 documents, 400 tokens, 10 tokens/s\n"


def test_a_line_on_a_terminal_is_wiped_also_when_the_work_fails(
    capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_REWRITE", 0.0)

    def fail() -> None:
        with Counter("{} of {} prompts") as tell:
            tell(1, 9)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert capsys.readouterr().err == "\r1 of 9 prompts\x1b[K\r\x1b[K"
    with Counter("{} of {} prompts"):
        pass
    assert capsys.readouterr().err == ""
