from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.data.text.batch import Position
from depthlaw.data.text.batches import Batching, read_batches
from depthlaw.data.text.limit import Limit
from depthlaw.data.text.opening import open_text
from depthlaw.data.text.retry import Retry


class Letters:
    """A character is a token; ids from 3; ``bos`` 1 or none; the end mark is 2; padding is not named."""

    eos_token_id, all_special_ids = 2, (1, 2)

    def __init__(self, bos=True):
        self.bos_token_id = 1 if bos else None

    def __call__(self, texts, **_):
        begin = [] if self.bos_token_id is None else [1]
        return {"input_ids": [begin + [ord(letter) % 50 + 3 for letter in text] for text in texts]}


texts = st.lists(st.text(alphabet="abc ", max_size=12), max_size=25)
batchings = st.builds(
    Batching,
    kind=st.sampled_from(["documents", "packed"]),
    batch_size=st.integers(1, 4),
    max_length=st.integers(1, 8),
    window=st.integers(1, 3),
    padding_side=st.sampled_from(["right", "left"]),
)
limits = st.one_of(
    st.none(),
    st.builds(Limit, documents=st.integers(1, 20)),
    st.builds(Limit, tokens=st.integers(1, 60)),
)


def expected(source, batching, limit, bos=True):
    """All tokens in order of documents, one document after the other."""
    limit, kept, total, rows = limit or Limit(), 0, 0, []
    for document in open_text(source).documents():
        if limit.reached(kept, total):
            break
        if not document.text.strip():
            continue
        ids = Letters(bos)([document.text])["input_ids"][0]
        if batching.kind == "documents":
            ids = ids[: batching.max_length]
        else:
            ids = ids if bos else [*ids, 2]
            ids = ids if limit.tokens is None else ids[: limit.tokens - total]
        kept, total = kept + 1, total + len(ids)
        rows += [(document.index, position, token) for position, token in enumerate(ids)]
    return rows


def tokens(batches):
    rows = []
    for batch in batches:
        real = batch.attention_mask.astype(bool)
        columns = (batch.document[real], batch.position[real], batch.input_ids[real])
        rows += list(zip(*(column.tolist() for column in columns), strict=True))
    return rows


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS) and (
        (one.after, one.documents) == (other.after, other.documents)
    )


ARRAYS = ("input_ids", "attention_mask", "document", "position", "is_first", "is_special")


@given(texts, batchings, limits, st.booleans())
@settings(deadline=None, max_examples=150)
def test_every_token_once_and_positions_that_continue(source, batching, limit, bos):
    batches = read_batches(open_text(source), Letters(bos), batching, limit=limit)
    whole = list(batches)
    given_out = tokens(whole)
    want = expected(source, batching, limit, bos)
    assert (given_out if batching.kind == "packed" else sorted(given_out)) == want
    # From behind any batch, the rest is the same bit by bit.
    for i, batch in enumerate(whole):
        again = read_batches(open_text(source), Letters(bos), batching, limit=limit, start=batch.after)
        rest = list(again)
        assert len(rest) == len(whole) - i - 1
        assert all(map(same, rest, whole[i + 1 :]))
        assert again.position == batches.position
    assert batches.position.tokens == len(want)
    if limit is None:
        assert batches.position.documents == len(source)
        assert batches.position.empty == sum(not text.strip() for text in source)


@given(texts, batchings)
@settings(deadline=None, max_examples=60)
def test_shapes_masks_and_flags(source, batching):
    for batch in read_batches(open_text(source), Letters(), batching):
        real = batch.attention_mask.astype(bool)
        assert {getattr(batch, name).shape for name in ARRAYS} == {real.shape}
        assert len(real) <= batching.batch_size
        assert real.any(axis=1).all()
        assert real.all(axis=1).any()  # no column that no row needs
        side = real if batching.padding_side == "right" else real[:, ::-1]
        assert (np.diff(side.astype(int), axis=1) <= 0).all()
        assert (batch.document[~real] == -1).all()
        assert (batch.is_first == (batch.position == 0)).all()
        assert (batch.is_special == (real & (batch.input_ids == 1))).all()
        assert set(batch.documents) == set(np.unique(batch.document[real]).tolist())
        assert not batch.has_successor[:, -1].any()


def test_windows_bring_rows_of_like_length_together_the_longest_first():
    rng = np.random.default_rng(0)
    source = ["x" * n for n in rng.integers(1, 200, size=512)]
    batches = list(read_batches(open_text(source), Letters(), Batching(batch_size=8, max_length=150)))
    assert [len(batch.input_ids) for batch in batches] == [8] * 64
    widths = [batch.input_ids.shape[1] for batch in batches[:16]]
    assert widths == sorted(widths, reverse=True)
    cells = sum(batch.input_ids.size for batch in batches)
    assert sum(batch.n_tokens for batch in batches) / cells > 0.95


def test_cut_and_empty_documents_are_counted():
    batches = read_batches(open_text(["abc", "", "a", " ", "abcdef"]), Letters(), Batching(max_length=3))
    list(batches)
    assert batches.position == Position(documents=5, empty=2, cut=2, tokens=3 + 2 + 3)


def test_packed_rows_know_the_document_of_every_token():
    batching = Batching("packed", batch_size=2, max_length=4)
    (batch,) = read_batches(open_text(["abc", "ab"]), Letters(), batching)
    assert batch.document.tolist() == [[0, 0, 0, 0], [1, 1, 1, -1]]
    (batch,) = read_batches(open_text(["ab", "ab"]), Letters(False), batching)
    assert batch.document.tolist() == [[0, 0, 0, 1], [1, 1, -1, -1]]
    assert batch.position.tolist() == [[0, 1, 2, 0], [1, 2, -1, -1]]
    assert batch.is_special.tolist() == [[False, False, True, False], [False, True, False, False]]
    # The end mark does not predict the next document.
    assert batch.has_successor.tolist() == [[True, True, False, False], [True, False, False, False]]


def test_a_mark_that_is_also_padding_is_a_real_token():
    letters = Letters()
    letters.pad_token_id = letters.eos_token_id = letters.bos_token_id = 1
    (batch,) = read_batches(open_text(["ab", "a"]), letters)
    assert batch.input_ids.tolist()[1] == [1, ord("a") % 50 + 3, 1]
    assert batch.attention_mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch.is_special.tolist() == [[True, False, False]] * 2


@pytest.mark.parametrize("side", ["right", "left"])
def test_rows_of_a_batch(side):
    batching = Batching(batch_size=3, padding_side=side)
    (batch,) = read_batches(open_text(["abcd", "abc", "a"]), Letters(), batching)
    part = batch.rows(1, 3)
    assert part.attention_mask.tolist() == [[1] * 4, [0, 0, 1, 1] if side == "left" else [1, 1, 0, 0]]
    assert part.documents == {1: "#2", 2: "#3"}
    assert part.after == batch.after
    assert same(batch.rows(0, 3), batch)


@pytest.mark.parametrize("kind", ["documents", "packed"])
def test_failures_of_the_source_leave_no_trace(kind):
    texts = [f"text {i}" for i in range(40)]

    class Failing:
        name, description, identity = "failing", "", None
        left = 2

        def documents(self, skip=0):
            for document in open_text(texts).documents(skip):
                if document.index == 23 and self.left:
                    self.left -= 1
                    raise ConnectionError("gone")
                yield document

    batching = Batching(kind, batch_size=2, max_length=16, window=4)
    pauses = []
    found = list(read_batches(Failing(), Letters(), batching, retry=Retry(sleep=pauses.append)))
    assert all(map(same, found, read_batches(open_text(texts), Letters(), batching)))
    assert pauses == [1.0, 2.0]


def test_limits():
    source = open_text(["abcd"] * 10)
    for kind, tokens_given in (("documents", 15), ("packed", 12)):
        batches = read_batches(source, Letters(), Batching(kind), limit=Limit(tokens=12))
        assert sum(batch.n_tokens for batch in batches) == tokens_given
    batches = read_batches(source, Letters(), replace(Batching(), batch_size=2), limit=Limit(documents=3))
    assert [len(batch.input_ids) for batch in batches] == [2, 1]
    assert batches.position.documents == 3
