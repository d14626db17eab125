"""Whether the Hugging Face hub can be reached, asked once and answered within seconds."""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request
from functools import cache
from http.client import HTTPException
from pathlib import Path
from threading import Thread

TIMEOUT_S = 4.0
_REMEMBERED_S = 60  # a notebook outlives a lost connection


def why_not_reachable() -> str:
    """Say why the hub cannot be reached; empty when it can. Never asks with ``HF_HUB_OFFLINE=1``."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return "HF_HUB_OFFLINE is set"
    return _ask(
        os.environ.get("HF_ENDPOINT") or "https://huggingface.co", int(time.monotonic() // _REMEMBERED_S)
    )


@cache
def _ask(endpoint: str, minute: int) -> str:
    reasons = [f"no answer within {TIMEOUT_S:.0f} s"]

    def ask() -> None:
        request = urllib.request.Request(endpoint, method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                reasons[0] = ""
        except urllib.error.HTTPError:
            reasons[0] = ""  # an answer, if not a kind one
        except (OSError, HTTPException, ValueError) as error:
            reasons[0] = str(getattr(error, "reason", error)) or type(error).__name__

    # Looking up a name knows no timeout, so that someone else has to wait for it.
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(TIMEOUT_S + 1)
    return reasons[0] and f"the hub cannot be reached ({reasons[0]})"


def kept_by_the_hub(model: str) -> Path | None:
    """The folder in which the hub's own cache holds a model; ``None`` where it does not, or has no client."""
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(model, local_files_only=True))
    except (ImportError, OSError, ValueError):
        return None
