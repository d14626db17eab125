"""Which folders are runs, and what is said where none is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from depthlaw.errors import InputError
from depthlaw.report.page.find import DEEPEST, find_runs

RunOf = Callable[..., Path]


def test_a_run_itself_or_those_below_it(tmp_path: Path, run_of: RunOf) -> None:
    a, b = run_of(tmp_path / "a"), run_of(tmp_path / "models" / "b")
    run_of(a / "parts" / "inner")  # folders of a run are its own
    assert find_runs(tmp_path) == ([a, b], [])
    assert find_runs(a) == ([a], [])


def test_not_below_everything(tmp_path: Path, run_of: RunOf) -> None:
    run_of(tmp_path / ".cache" / "hidden")
    run_of(tmp_path.joinpath(*"abcde"[: DEEPEST + 1]))
    with pytest.raises(InputError, match="holds no run"):
        find_runs(tmp_path)
    deep = run_of(tmp_path.joinpath(*"wxyz"[:DEEPEST]))
    assert find_runs(tmp_path)[0] == [deep]


def test_links_are_followed_once(tmp_path: Path, run_of: RunOf) -> None:
    run_of(tmp_path / "elsewhere" / "a")
    root = tmp_path / "root"
    root.mkdir()
    for name in ("one", "two"):
        (root / name).symlink_to(tmp_path / "elsewhere")
    (root / "up").symlink_to(root)
    (root / "nowhere").symlink_to(tmp_path / "gone")
    (root / "loop").symlink_to(root / "loop")
    (found,) = find_runs(root)[0]
    assert found.resolve() == tmp_path / "elsewhere" / "a"


@pytest.mark.parametrize(
    ("make", "said", "hint"),
    [
        (lambda path: None, "no such folder", "--out"),
        (lambda path: path.symlink_to("gone"), "no such folder", "--out"),
        (lambda path: path.write_text("x"), "is a file", "Give its folder"),
        (lambda path: path.symlink_to(path), "cannot be read", "permissions"),
        (lambda path: path.mkdir(), "holds no run", "depthlaw reproduce"),
    ],
)
def test_no_folder_of_runs(tmp_path: Path, make: Callable[[Path], object], said: str, hint: str) -> None:
    make(tmp_path / "x")
    with pytest.raises(InputError, match=said) as caught:
        find_runs(tmp_path / "x")
    assert hint in (caught.value.hint or "")
    assert len(str(caught.value).splitlines()) <= 3


def refuse(monkeypatch: pytest.MonkeyPatch, closed: Path) -> None:
    """Let a folder be one that this user may not list; root may list any."""
    real = Path.iterdir

    def iterdir(self: Path) -> Iterator[Path]:
        if self == closed:
            raise PermissionError(13, "Permission denied", str(self))
        return real(self)

    monkeypatch.setattr(Path, "iterdir", iterdir)


def test_folders_that_may_not_be_listed(
    tmp_path: Path, run_of: RunOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = run_of(tmp_path / "a")
    (tmp_path / "private").mkdir()
    with monkeypatch.context() as patched:
        refuse(patched, tmp_path / "private")
        assert find_runs(tmp_path) == ([a], [(tmp_path / "private", "Permission denied")])
    refuse(monkeypatch, tmp_path)
    with pytest.raises(InputError, match="Permission denied"):
        find_runs(tmp_path)
