"""Reading a source through passing failures: reopened at the document it had come to, after a pause."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from depthlaw.data.text.records import Document
from depthlaw.data.text.source import TextSource
from depthlaw.errors import InputError

TRANSIENT_ERRNOS = frozenset(
    {errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ECONNRESET, errno.ENETUNREACH, errno.EAGAIN, errno.EPIPE}
)
"""What network file systems answer while they are away."""

_NETWORK_PACKAGES = frozenset(
    {"aiohttp", "fsspec", "huggingface_hub", "requests", "urllib3"}
    | {"httpcore", "httpcore2", "httpx", "httpx2"}
)
_ANSWERS_TO_REPEAT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Retry:
    """How often and how patiently.

    Attributes
    ----------
    attempts
        Failures in a row, without a document between them, after which it is given up.
    first_pause, longest_pause
        Seconds; the pause doubles with every failure in a row.
    sleep
        Takes seconds; tests pass their own.
    """

    attempts: int = 6
    first_pause: float = 1.0
    longest_pause: float = 60.0
    sleep: Callable[[float], object] = time.sleep

    def documents(self, source: TextSource, skip: int = 0) -> Iterator[Document]:
        """Yield the documents of ``source`` after the first ``skip``.

        Raises
        ------
        InputError
            When a passing failure does not pass, or at once for what repeating cannot mend.
        """
        done, failures = skip, 0
        while True:
            try:
                for document in source.documents(done):
                    yield document
                    done, failures = document.index + 1, 0
                return
            except Exception as error:
                if not is_transient(error):
                    raise
                failures += 1
                if failures >= self.attempts:
                    raise InputError(
                        f"{source.name}: reading failed {failures} times in a row after {done} documents "
                        f"({type(error).__name__}: {' '.join(str(error).split())[:200]}).",
                        "Run the same command again later: it continues from there.",
                    ) from error
                self.sleep(min(self.first_pause * 2.0 ** (failures - 1), self.longest_pause))


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later: lost connections, time-outs, overloaded servers.

    Network libraries are not imported to ask: their errors are known by the package they come from, and
    where a server answered (``error.response.status_code``) its answer decides.
    """
    if isinstance(error, InputError):
        return False
    status = getattr(getattr(error, "response", None), "status_code", None) or getattr(error, "status", None)
    if isinstance(status, int):
        return status in _ANSWERS_TO_REPEAT
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    if any(base.__module__.partition(".")[0] in _NETWORK_PACKAGES for base in type(error).__mro__):
        return True
    return isinstance(error, OSError) and error.errno in TRANSIENT_ERRNOS
