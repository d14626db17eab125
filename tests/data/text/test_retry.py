import errno

import pytest

from depthlaw.data.text.records import Document
from depthlaw.data.text.retry import Retry, is_transient
from depthlaw.errors import InputError

DOCUMENTS = [Document(i, f"#{i}", f"text {i}") for i in range(5)]


class Failing:
    """Yields, but fails before the documents listed in ``failures``, once for every time they are listed."""

    name, description, identity = "a/b", "", None

    def __init__(self, failures, error=None):
        self.failures, self.error, self.opened = list(failures), error or ConnectionResetError("gone"), []

    def documents(self, skip=0):
        self.opened.append(skip)
        for document in DOCUMENTS[skip:]:
            if document.index in self.failures:
                self.failures.remove(document.index)
                raise self.error
            yield document


def read(source, skip=0, **options):
    pauses = []
    return list(Retry(sleep=pauses.append, **options).documents(source, skip)), pauses


def test_fails_twice_then_yields():
    source = Failing([2, 2])
    assert read(source) == (DOCUMENTS, [1.0, 2.0])
    assert source.opened == [0, 2, 2]


def test_a_document_in_between_makes_patience_whole_again():
    assert read(Failing([0, 0, 1, 1, 4]), attempts=3) == (DOCUMENTS, [1.0, 2.0, 1.0, 2.0, 1.0])


def test_pauses_are_bounded_and_end():
    source, pauses = Failing([3] * 9), []
    documents = Retry(attempts=5, longest_pause=3.0, sleep=pauses.append).documents(source, 1)
    with pytest.raises(InputError, match=r"a/b: reading failed 5 times in a row after 3 documents .*gone"):
        list(documents)
    assert pauses == [1.0, 2.0, 3.0, 3.0]


def test_what_repeating_cannot_mend_is_raised_at_once():
    for error in (InputError("line 3"), ValueError("no"), FileNotFoundError(errno.ENOENT, "no")):
        with pytest.raises(type(error)):
            read(Failing([0], error))


def network_error(status=None):
    error = type("HTTPError", (Exception,), {"__module__": "httpx._exceptions"})("answer")
    if status is not None:
        error.response = type("Response", (), {"status_code": status})
    return error


def test_which_failures_pass():
    assert is_transient(network_error())
    assert is_transient(network_error(503))
    assert is_transient(network_error(429))
    assert not is_transient(network_error(404))
    assert not is_transient(network_error(401))
    assert is_transient(TimeoutError())
    assert is_transient(OSError(errno.ESTALE, "stale"))
    assert not is_transient(OSError(errno.EACCES, "denied"))
