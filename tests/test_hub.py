"""Whether the hub can be reached: yes, no, or no answer, within seconds."""

from __future__ import annotations

import io
import threading
import time
import urllib.error

import pytest

from depthlaw import hub


@pytest.fixture(autouse=True)
def online(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    hub._ask.cache_clear()
    yield
    hub._ask.cache_clear()


def answering(monkeypatch, answer):
    asked = []

    def urlopen(request, timeout):
        asked.append((request.full_url, request.get_method(), timeout))
        return answer()

    monkeypatch.setattr(hub.urllib.request, "urlopen", urlopen)
    return asked


def failing(error):
    def fail():
        raise error

    return fail


def test_an_answer_is_asked_for_once(monkeypatch):
    asked = answering(monkeypatch, lambda: io.BytesIO(b""))
    assert [hub.why_not_reachable(), hub.why_not_reachable()] == ["", ""]
    assert asked == [("https://huggingface.co", "HEAD", hub.TIMEOUT_S)]


def test_another_endpoint_is_the_users(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example")
    asked = answering(monkeypatch, lambda: io.BytesIO(b""))
    assert hub.why_not_reachable() == ""
    assert asked[0][0] == "https://mirror.example"


def test_an_unkind_answer_is_an_answer(monkeypatch):
    answering(monkeypatch, failing(urllib.error.HTTPError("u", 405, "Method Not Allowed", {}, None)))
    assert hub.why_not_reachable() == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (urllib.error.URLError("Name or service not known"), "Name or service not known"),
        (TimeoutError("timed out"), "timed out"),
        (ConnectionResetError(), "ConnectionResetError"),
        (ValueError("unknown url type"), "unknown url type"),
    ],
)
def test_no_connection_is_said(monkeypatch, error, said):
    answering(monkeypatch, failing(error))
    assert hub.why_not_reachable() == f"the hub cannot be reached ({said})"


def test_no_answer_is_not_waited_for(monkeypatch):
    late = threading.Event()

    def answer():
        late.wait(60)
        return io.BytesIO(b"")

    monkeypatch.setattr(hub, "TIMEOUT_S", 0.0)
    answering(monkeypatch, answer)
    begun = time.monotonic()
    assert "no answer" in hub.why_not_reachable()
    assert time.monotonic() - begun < 30
    late.set()


def test_offline_is_not_asked(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    asked = answering(monkeypatch, lambda: io.BytesIO(b""))
    assert hub.why_not_reachable() == "HF_HUB_OFFLINE is set"
    assert asked == []


def test_what_the_hubs_cache_does_not_hold(monkeypatch, tmp_path):
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert hub.kept_by_the_hub("nobody/no-such-model") is None
