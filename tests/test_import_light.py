"""What importing costs: people import depthlaw in notebooks and type ``depthlaw --help`` to look around."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"torch", "transformers", "matplotlib", "pandas"}


def loaded_by(code: str) -> set[str]:
    """Return the top-level modules that are loaded after running ``code`` in a fresh process."""
    report = (
        f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_import_is_light() -> None:
    assert not loaded_by("import depthlaw") & (HEAVY | {"numpy", "scipy", "pyarrow"})


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["show", "--help"], ["shwo"]])
def test_looking_around_loads_no_numpy(words: list[str]) -> None:
    loaded = loaded_by(
        "import contextlib, io\n"
        "from depthlaw.cli import main\n"
        f"with contextlib.redirect_stderr(io.StringIO()): main({words!r})"
    )
    assert not loaded & (HEAVY | {"numpy", "scipy", "pyarrow", "tomlkit"})


def test_a_fit_does_not_import_what_takes_longer_than_the_fit() -> None:
    code = "import sys; from depthlaw import fit; print(fit.__module__, 'scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["depthlaw.laws.fit", "False"]
