"""Figures are the same bytes for the same data, whenever and wherever they are drawn."""

from __future__ import annotations

import hashlib
import inspect
import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from depthlaw.plots.style import FORMATS, figure, rendered, scale_axis


def draw(name: str = "x", slope: float = 1.0) -> dict[str, bytes]:
    with figure() as (made, axes):
        x = np.linspace(1, 100, 20)
        axes[0].plot(x, slope * x, label=r"$\ell^{-1}$")
        axes[0].fill_between(x, x, 2 * x, alpha=0.2)
        axes[0].legend()
        scale_axis(axes[0], "x")
        return rendered(made, name)


@pytest.fixture(scope="module")
def once() -> dict[str, bytes]:
    return draw()


def test_the_same_bytes_twice_in_this_process_and_in_another(once: dict[str, bytes]) -> None:
    assert set(once) == {f"x.{kind}" for kind in FORMATS}
    again = draw()
    code = f"""
from __future__ import annotations
import hashlib
import numpy as np
from depthlaw.plots.style import figure, rendered, scale_axis
{inspect.getsource(draw)}
for data in draw().values():
    print(hashlib.sha256(data).hexdigest())
"""
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert elsewhere.stderr == ""
    for (name, data), digest in zip(once.items(), elsewhere.stdout.split(), strict=True):
        assert again[name] == data, name
        assert hashlib.sha256(data).hexdigest() == digest, name


def test_no_file_says_when_it_was_made(once: dict[str, bytes]) -> None:
    for name, data in once.items():
        assert not re.search(rb"20\d\d-\d\d-\d\d|D:20\d{6}", data), name
        assert b"CreationDate" not in data
        assert b"dc:date" not in data
    assert b"tIME" not in once["x.png"]


def test_files_are_what_their_names_say(once: dict[str, bytes]) -> None:
    assert once["x.pdf"].startswith(b"%PDF-")
    assert once["x.png"].startswith(b"\x89PNG")
    assert b"<svg" in once["x.svg"][:2000]


def test_ids_differ_between_figures_of_one_page(once: dict[str, bytes]) -> None:
    """Two figures in one HTML page must not share the ids of their clip paths."""
    ids = [set(re.findall(rb'clipPath id="(\w+)"', svg)) for svg in (once["x.svg"], draw("y")["y.svg"])]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_the_users_settings_neither_matter_nor_change(once: dict[str, bytes]) -> None:
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 9, "axes.facecolor": "red"}):
        before = dict(mpl.rcParams)
        assert draw() == once
        assert dict(mpl.rcParams) == before
        with pytest.raises(RuntimeError, match="stop"), figure():
            raise RuntimeError("stop")
        assert dict(mpl.rcParams) == before


def test_panels() -> None:
    with figure(3) as (made, axes):
        assert len(axes) == 3
        assert made.get_size_inches() == pytest.approx([9.3, 2.7])
    with figure(2, 2, size=(4, 4)) as (made, axes):
        assert axes.shape == (2, 2)
        assert made.get_size_inches() == pytest.approx([4, 4])


@pytest.mark.parametrize(
    ("low", "high", "base", "labels"),
    [
        (8, 64, 2, {"8", "16", "32", "64"}),
        (0.1, 10, 10, {"0.1", "1", "10"}),
        (2e9, 5e11, 10, {"$10^{10}$", "$10^{11}$"}),
        (1.0, 8.0, 10, {"1", "2", "5"}),
        (1e-4, 0.5, 10, {"$10^{-4}$", "$10^{-3}$", "$10^{-2}$", "$10^{-1}$"}),
        (1e4, 3e6, 10, {"$10^{4}$", "$10^{5}$", "$10^{6}$"}),
        (2**15, 2**18, 2, {"$2^{15}$", "$2^{16}$", "$2^{17}$", "$2^{18}$"}),
    ],
)
def test_ticks_are_plain_numbers(low: float, high: float, base: int, labels: set[str]) -> None:
    with figure() as (made, axes):
        axes[0].plot([low, high], [1, 2])
        scale_axis(axes[0], "x", base=base)
        made.canvas.draw()
        first, last = axes[0].get_xlim()
        shown = {
            text.get_text() for text in axes[0].get_xticklabels() if first <= text.get_position()[0] <= last
        }
        assert labels <= shown
        assert len({label.startswith("$") for label in shown}) == 1  # one notation
        assert len(shown) <= 9
