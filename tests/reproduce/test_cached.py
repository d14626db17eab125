"""Runs in the cache: continued, made anew with other settings, and what is said on the way."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from depthlaw.data.manifest import read_manifest
from depthlaw.data.store import open_run
from depthlaw.errors import ConfigError
from depthlaw.reproduce import cached
from depthlaw.reproduce.cached import kept_or_anew, seldom


def training(out: Path, steps: int):
    """Return a run that says whether it had to do anything."""

    def run(*, resume: bool) -> bool:
        with open_run(out, verb="lab", config={"steps": steps}, resume=resume) as kept:
            if made := not kept.complete:
                kept.write_bytes("result", str(steps).encode())
            return made

    return run


def test_what_is_kept_is_used_and_made_anew_with_other_settings(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert [kept_or_anew(out, training(out, steps)) for steps in (4, 4, 6, 6)] == [True, False, True, False]
    assert read_manifest(out).config == {"steps": 6}


def test_a_folder_that_cannot_be_used_is_to_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ConfigError, match="is damaged") as caught:
        kept_or_anew(tmp_path, training(tmp_path, 4))
    assert str(caught.value).splitlines()[-1] == f"It is in the cache: delete {tmp_path}."


def test_progress_is_said_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 10.0, 31.0, 40.0, 62.0])
    monkeypatch.setattr(cached, "time", SimpleNamespace(monotonic=lambda: next(now)))
    said: list[int] = []
    say = seldom(said.append)
    for step in range(4):
        say(step)
    assert said == [1, 3]
