from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from depthlaw.data.files import TEMPORARY, atomic_file, locked, make_folder, write_file
from depthlaw.errors import ExitCode, OutputError


def refusal(write: Callable[[], object]) -> str:
    with pytest.raises(OutputError) as caught:
        write()
    assert caught.value.exit_code == ExitCode.FAILED
    assert len(str(caught.value).splitlines()) == 2
    return str(caught.value)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def failing(code: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_file_is_written_whole_with_the_folders_above_it(tmp_path: Path) -> None:
    write_file(tmp_path / "a" / "b" / "x.bin", b"one")
    write_file(tmp_path / "a" / "b" / "x.bin", b"two")
    assert (tmp_path / "a" / "b" / "x.bin").read_bytes() == b"two"
    assert names(tmp_path / "a" / "b") == {"x.bin"}


def test_new_files_have_the_permissions_of_the_user(tmp_path: Path) -> None:
    write_file(tmp_path / "x", b"")
    (tmp_path / "y").write_bytes(b"")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    write_file(tmp_path / "real", b"one")
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", b"two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"two"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOSPC, "no space left on the device.\nFree some space"),
        (errno.EDQUOT, "the disk quota is used up.\nFree some space"),
        (errno.EROFS, "the file system is read-only.\nChoose another place"),
        (errno.EACCES, "permission denied.\nChoose another place"),
        (errno.EIO, "Input/output error.\nChoose another place"),
    ],
)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    code: int, said: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write_file(path, b"old")
    monkeypatch.setattr(f"depthlaw.data.files.os.{step}", failing(code))
    assert refusal(lambda: write_file(path, b"new")).startswith(f"cannot write {path}: {said}")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"x"}


def test_a_full_disk_in_the_middle_of_a_file(tmp_path: Path) -> None:
    """A size limit of the system cuts the write short, as a full disk would."""
    code = f"""
        import resource
        from pathlib import Path
        from depthlaw.data.files import write_file
        from depthlaw.errors import OutputError

        write_file("x", b"old")
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, {resource.RLIM_INFINITY}))
        try:
            write_file("x", bytes(10**6))
        except OutputError as error:
            print(error.message)
        print(*(path.name for path in Path().iterdir()), Path("x").read_bytes())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "cannot write x: the file would exceed the size limit (ulimit -f).\nx b'old'\n"


def test_an_error_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    def half() -> None:
        with atomic_file(tmp_path / "x") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert names(tmp_path) == set()


def test_an_error_over_another_file_is_not_put_on_this_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "x"):
        (tmp_path / "input").read_bytes()
    assert names(tmp_path) == set()


def test_a_folder_in_the_files_place(tmp_path: Path) -> None:
    assert "not a regular file" in refusal(lambda: write_file(tmp_path, b""))


def test_a_device_is_not_replaced_by_a_file() -> None:
    assert "not a regular file" in refusal(lambda: write_file("/dev/null", b""))


def test_a_file_in_a_folders_place(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"theirs")
    wanted = "a file stands where a folder is needed"
    assert wanted in refusal(lambda: write_file(tmp_path / "x" / "y", b""))
    assert wanted in refusal(lambda: write_file(tmp_path / "x" / "y" / "z", b""))
    assert wanted in refusal(lambda: make_folder(tmp_path / "x"))
    assert (tmp_path / "x").read_bytes() == b"theirs"


def test_a_place_where_nothing_can_be_made() -> None:
    # Not even root may create files here, whom permissions do not stop.
    refusal(lambda: write_file("/proc/depthlaw/x", b""))


def test_a_folder_is_held_by_one_process_and_let_go_when_it_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\nfrom pathlib import Path\nfrom depthlaw.data.files import locked\n"
            "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)",
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        def enter() -> None:
            with locked(tmp_path):
                pass

        assert "another process" in refusal(enter)
        holder.kill()
    enter()


def test_temporary_names_are_hidden_and_known(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "x"):
        (name,) = names(tmp_path)
    assert name.startswith(".")
    assert name.endswith(TEMPORARY)
