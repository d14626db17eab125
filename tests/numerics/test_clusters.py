from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.numerics.clusters import ClusteredMean, DocumentMeans


def reference(values, document):
    """Mean and its error over documents, column by column, straight from the formula."""
    means, errors = [], []
    for column in values.T:
        good = np.isfinite(column)
        groups = [column[good & (document == d)] for d in np.unique(document[good])]
        mean = column[good].mean()
        spread = sum((len(group) * (group.mean() - mean)) ** 2 for group in groups)
        many = len(groups)
        means.append(mean)
        errors.append(np.sqrt(many / (many - 1) * spread) / good.sum() if many > 1 else np.nan)
    return np.array(means), np.array(errors)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 60),
    st.sampled_from([0.0, 1e6]),
    st.integers(1, 6),
    st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_documents_in_parts_and_in_any_order_equal_the_formula(seed, rows, offset, parts, gaps):
    rng = np.random.default_rng(seed)
    document = rng.integers(0, 8, size=rows)
    values = offset + rng.standard_normal((rows, 2)) + document[:, None]
    if gaps:
        values[rng.random(values.shape) < 0.2] = np.nan
        values[0] = offset
    pieces = np.array_split(rng.permutation(rows), parts)
    whole = reduce(DocumentMeans.merge, [DocumentMeans.of(values[p], document[p]) for p in pieces])
    # Closed in two goes, as a reader does that knows which documents are through.
    closed, rest = whole.close(int(rng.integers(0, 9)))
    last, nothing = rest.close()
    assert not len(nothing.document)
    found = closed.merge(last)
    mean, stderr = reference(values, document)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13, atol=1e-10)
    np.testing.assert_allclose(found.stderr, stderr, rtol=1e-6, atol=1e-9 + 1e-15 * offset)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 12), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_merging_is_associative_and_stable_under_an_offset(seed, sizes):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    means, counts = 1e9 + rng.standard_normal((n, 1)), rng.integers(0, 5, size=(n, 1)).astype(float)
    cuts = np.cumsum(sizes)[:-1]
    parts = [
        ClusteredMean.of(*piece) for piece in zip(np.split(means, cuts), np.split(counts, cuts), strict=True)
    ]
    left, right = reduce(ClusteredMean.merge, parts), reduce(lambda a, b: b.merge(a), reversed(parts))
    whole = ClusteredMean.of(means, counts)
    for found in (left, right):
        np.testing.assert_allclose(found.stderr, whole.stderr, rtol=1e-5, atol=1e-6)


def test_equal_documents_of_one_token_give_the_usual_standard_error():
    values = np.random.default_rng(3).standard_normal(50)
    (found, _) = DocumentMeans.of(values, np.arange(50)).close()
    assert found.stderr[0] == pytest.approx(values.std(ddof=1) / np.sqrt(50), rel=1e-12)


def test_copies_of_a_token_in_its_document_change_nothing():
    values = np.random.default_rng(3).standard_normal(20)
    one, _ = DocumentMeans.of(values, np.arange(20)).close()
    many, _ = DocumentMeans.of(np.repeat(values, 9), np.repeat(np.arange(20), 9)).close()
    assert many.stderr[0] == pytest.approx(one.stderr[0], rel=1e-12)


def test_intervals_cover_when_tokens_of_a_document_are_alike():
    rng, hits = np.random.default_rng(5), 0
    for _ in range(300):
        document = np.repeat(np.arange(60), rng.integers(1, 30, size=60))
        values = rng.standard_normal(60)[document] + 0.3 * rng.standard_normal(len(document))
        found, _ = DocumentMeans.of(values, document).close()
        hits += abs(found.mean[0]) < 1.96 * found.stderr[0]
    assert 0.88 < hits / 300 <= 0.99


def test_one_document_has_no_error_and_nothing_has_no_mean():
    one, _ = DocumentMeans.of([1.0, 2.0], [4, 4]).close()
    assert one.mean.tolist() == [1.5]
    assert np.isnan(one.stderr).all()
    nothing, _ = DocumentMeans.empty(2).close()
    assert np.isnan(nothing.mean).all()
    assert nothing.merge(ClusteredMean.empty(2)).count.tolist() == [0, 0]
    assert one.merge(ClusteredMean.empty(1)).mean.tolist() == [1.5]


def test_masked_values_are_left_out():
    means = DocumentMeans.of([[1.0], [5.0], [3.0]], [2, 2, 7], where=[True, False, False])
    assert means.document.tolist() == [2, 7]
    assert means.counts.tolist() == [[1.0], [0.0]]
    assert means.means.tolist() == [[1.0], [0.0]]
    assert means.close()[0].clusters.tolist() == [1.0]
