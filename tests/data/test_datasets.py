"""Published tables: where they are looked for, and that nothing else passes for them."""

from __future__ import annotations

import hashlib
import http.client
import io
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from depthlaw.data import datasets
from depthlaw.data.datasets import DATASETS, Dataset, find_dataset
from depthlaw.errors import DepthlawError, InputError, UsageError

CONTENT = b"width,loss\n1,2\n"
TINY = Dataset(
    path="runs/tiny.csv",
    url="https://example.org/tiny.csv",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    source="made here",
    redistribute=True,
)
Answer = Callable[..., io.BytesIO]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A world with one data set, an empty cache and no network; the list of addresses that were asked."""
    monkeypatch.setattr(datasets, "DATASETS", {"tiny": TINY})
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path / "cache"))
    for variable in ("DEPTHLAW_DATA", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    seen: list[str] = []

    def refuse(url: str, timeout: float) -> io.BytesIO:
        seen.append(url)
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return seen


def answering(content: bytes, seen: list[str]) -> Answer:
    def urlopen(url: str, timeout: float) -> io.BytesIO:
        assert 0 < timeout <= 60
        seen.append(url)
        return io.BytesIO(content)

    return urlopen


def put(root: Path, content: bytes) -> Path:
    path = root / TINY.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_the_folder_of_the_user_comes_first(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(tmp_path / "cache", CONTENT)
    mine = put(tmp_path / "mine", CONTENT)
    monkeypatch.setenv("DEPTHLAW_DATA", str(tmp_path / "mine"))
    assert find_dataset("tiny") == mine
    assert asked == []


def test_then_the_cache(asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cached = put(tmp_path / "cache", CONTENT)
    monkeypatch.setenv("DEPTHLAW_DATA", str(tmp_path / "has other things"))
    assert find_dataset("tiny") == cached
    assert find_dataset("tiny", download=False) == cached
    assert asked == []


def test_then_a_download_which_the_cache_keeps(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", answering(CONTENT, asked))
    path = find_dataset("tiny")
    assert path == tmp_path / "cache" / "runs" / "tiny.csv"
    assert path.read_bytes() == CONTENT
    assert find_dataset("tiny") == path
    assert asked == [TINY.url]


def test_without_a_variable_the_cache_is_the_users(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DEPTHLAW_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(urllib.request, "urlopen", answering(CONTENT, asked))
    assert find_dataset("tiny") == tmp_path / "xdg" / "depthlaw" / "runs" / "tiny.csv"


@pytest.mark.parametrize("value", ["1", "true", "ON"])
def test_offline_nothing_is_asked(asked: list[str], monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    with pytest.raises(InputError, match="not on this machine, and fetching it is switched off") as error:
        find_dataset("tiny")
    assert "Set DEPTHLAW_DATA to a folder that holds runs/tiny.csv." in str(error.value)
    assert asked == []


def test_download_can_be_declined(asked: list[str]) -> None:
    with pytest.raises(InputError, match="fetching it is switched off"):
        find_dataset("tiny", download=False)
    assert asked == []


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (urllib.error.URLError("no route to host"), "no route to host"),
        (urllib.error.HTTPError(TINY.url, 404, "Not Found", http.client.HTTPMessage(), None), "Not Found"),
        (TimeoutError("timed out"), "timed out"),
        (ConnectionResetError(), "ConnectionResetError"),
        (http.client.IncompleteRead(b"wid"), "IncompleteRead"),
    ],
)
def test_a_download_that_fails_is_two_lines(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, failure: Exception, said: str, tmp_path: Path
) -> None:
    def urlopen(url: str, timeout: float) -> io.BytesIO:
        raise failure

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    with pytest.raises(InputError, match="could not be fetched") as error:
        find_dataset("tiny")
    assert said in error.value.message
    assert len(str(error.value).splitlines()) == 2
    assert not (tmp_path / "cache").exists()


def test_another_file_at_the_address_is_not_kept(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", answering(CONTENT + b"\n", asked))
    with pytest.raises(InputError, match="not the file that was published"):
        find_dataset("tiny")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("variable", ["DEPTHLAW_DATA", "DEPTHLAW_CACHE"])
def test_another_file_on_this_machine_is_refused(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    path = put(tmp_path / "here", b"something else")
    monkeypatch.setenv(variable, str(tmp_path / "here"))
    with pytest.raises(InputError, match="is not the published table") as error:
        find_dataset("tiny")
    assert str(path) in error.value.message
    assert hashlib.sha256(b"something else").hexdigest()[:12] in error.value.message
    assert TINY.sha256[:12] in error.value.message
    assert path.read_bytes() == b"something else"


def test_a_cache_that_cannot_be_written_says_so(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DEPTHLAW_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(urllib.request, "urlopen", answering(CONTENT, asked))
    with pytest.raises(DepthlawError) as error:
        find_dataset("tiny")
    assert str(tmp_path / "file") in error.value.message


def test_unknown_names_get_the_nearest(asked: list[str]) -> None:
    with pytest.raises(UsageError, match='dataset "tiney" not found') as error:
        find_dataset("tiney")
    assert "Did you mean tiny?" in str(error.value)


def test_addresses_are_at_a_fixed_commit() -> None:
    for dataset in DATASETS.values():
        assert dataset.url.startswith("https://")
        assert "/main/" not in dataset.url
        assert "/master/" not in dataset.url
        assert len(dataset.sha256) == 64
        assert dataset.source
    assert not DATASETS["chinchilla"].redistribute
    assert "07360e3" in DATASETS["chinchilla"].url


@pytest.mark.data
def test_the_table_at_hand_is_the_published_one(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPTHLAW_DATA", str(data_dir))
    assert find_dataset("chinchilla", download=False) == data_dir / "runs" / "chinchilla.csv"
