from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from depthlaw.cli import main

Printed = pytest.CaptureFixture[str]


def test_it_names_versions_machine_threads_and_folders(capsys: Printed) -> None:
    assert main(["show", "env"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name in ("python", "numpy", "cpu", "cores", "memory", "blas", "OMP_NUM_THREADS", "DEPTHLAW_DATA"):
        assert any(line.startswith(name) for line in out.splitlines()), name
    assert "\x1b" not in out


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setenv("DEPTHLAW_DATA", str(tmp_path))
    monkeypatch.setenv("DEPTHLAW_MODELS", str(tmp_path / "none"))
    monkeypatch.delenv("DEPTHLAW_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert main(["show", "env", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == 1
    assert facts["versions"]["numpy"] == version("numpy")
    assert facts["machine"]["cores"] >= 1
    assert facts["threads"]["OMP_NUM_THREADS"] == "3"
    assert facts["folders"] == {
        "DEPTHLAW_DATA": {"path": str(tmp_path), "exists": True},
        "DEPTHLAW_MODELS": {"path": str(tmp_path / "none"), "exists": False},
        "DEPTHLAW_CACHE": {"path": "/elsewhere/depthlaw", "exists": False},
    }
