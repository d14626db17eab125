import types

import numpy as np
import pyarrow as pa

from depthlaw.errors import UsageError
from depthlaw.probe.examples import examples_of, in_context, typical
from depthlaw.probe.trajectories import trajectories


def test_examples_are_typical_and_from_different_documents_first():
    order = [0.3, 0.1, 0.2, np.nan, 0.0, 0.5]
    document = [0, 0, 0, 1, 1, 2]
    assert typical(order, document, 3) == [4, 1, 5]
    assert typical(order, document, 5) == [4, 1, 5, 2, 0]
    assert typical(order, document, 5, among=[True, False, True, True, False, False]) == [2, 0]


def test_context_goes_as_far_as_the_table():
    document = np.array([0, 0, 0, 1, 0, 0])
    position = np.array([0, 1, 2, 0, 3, 5])
    words = ["once", "upon", "a", "the", "time", "end"]
    (found,) = in_context(
        [1], document, position, np.arange(6), lambda ids: " ".join(words[i] for i in ids), context=3
    )
    assert (found.before, found.token, found.after) == ("once", "upon", "a time")


class Result:
    """Stands for a `ProbeResult` of 30 documents of 20 tokens, of which every second one was sampled."""

    def __init__(self, *, kept, stop=True):
        rng = np.random.default_rng(0)
        document, position = np.divmod(np.arange(600), 20)
        theta = 0.3 + 0.01 * rng.standard_normal((600, 6))
        if stop:
            theta[position == 4] -= 0.25
        columns = {"document": document, "position": position, "token_id": np.arange(600)}
        self._table = pa.table(columns) if kept else None
        sampled = {name: column[::2] for name, column in columns.items()}
        self.gathered = types.SimpleNamespace(sample=types.SimpleNamespace(**sampled, theta_state=theta[::2]))
        self.trajectories = trajectories(theta[::2], document=document[::2])

    def shards(self):
        if self._table is None:
            raise UsageError("this probe kept no tokens.")
        return iter([self._table.slice(0, 333), self._table.slice(333)])


def decode(ids):
    return " ".join(map(str, ids))


def test_examples_of_a_probe_stand_in_the_context_of_its_table():
    found = examples_of(Result(kept=True), decode, n=3, context=2)
    assert [example.position for example in found] == [4, 4, 4]
    assert len({example.document for example in found}) == 3
    for example in found:
        here = 20 * example.document + 4
        assert (example.before, example.token, example.after) == (
            f"{here - 2} {here - 1}",
            str(here),
            f"{here + 1} {here + 2}",
        )


def test_without_a_table_there_is_no_context_and_without_a_cluster_no_example():
    found = examples_of(Result(kept=False), decode)
    assert len(found) == 8
    assert {(example.before, example.after) for example in found} == {("", "")}
    assert examples_of(Result(kept=True, stop=False), decode) == []
