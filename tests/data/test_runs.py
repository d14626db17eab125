"""Properties that hold for every table."""

import contextlib
import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError, UsageError


def codes(table):
    return {notice.code for notice in table.notices}


POSITIVE = st.floats(min_value=1e-300, max_value=1e300, allow_nan=False)
MISSING_WORDS = {"na", "n/a", "<na>", "null", "none", "nil", "-", "--", "."}
LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5).filter(
    lambda label: label.strip() == label and label.casefold() not in MISSING_WORDS
)
TABLES = st.lists(
    st.fixed_dictionaries(
        {
            "width": st.integers(1, 2**31 - 1),
            "depth": st.integers(1, 1000),
            "tokens": POSITIVE,
            "loss": POSITIVE,
            "run": LABELS,
        }
    ),
    min_size=1,
    max_size=20,
)


@given(TABLES)
@settings(max_examples=40, deadline=None)
def test_every_format_gives_the_same_table(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("formats")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    (folder / "a.csv").write_bytes(text.getvalue().encode())
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    expected = read_runs(rows, cluster="run")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        table = read_runs(folder / name, cluster="run")
        assert table.sha256 == expected.sha256
        assert np.array_equal(table["loss"], expected["loss"])
        assert table.clusters.tolist() == expected.clusters.tolist()
    assert read_runs({k: [row[k] for row in rows] for k in rows[0]}, cluster="run").sha256 == expected.sha256


@given(TABLES, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_rows_and_columns_changes_nothing_but_their_order(rows, random):
    table = read_runs(rows, cluster="run")
    order = list(range(len(rows)))
    random.shuffle(order)
    shuffled = read_runs([dict(random.sample(list(rows[i].items()), 5)) for i in order], cluster="run")
    assert shuffled.sha256 == table.take(order, "shuffled").sha256
    assert codes(shuffled) == codes(table)
    unique = table.drop_duplicates()
    assert unique.n_runs == shuffled.drop_duplicates().n_runs
    assert "duplicate-rows" not in codes(unique)


@given(st.lists(st.sampled_from([2.0, 2.5, 3.0, 3.5, 4.0]), min_size=2, max_size=30), st.data())
@settings(max_examples=60, deadline=None)
def test_exclude_highest_follows_its_definition(losses, data):
    k = data.draw(st.integers(1, len(losses) - 1))
    table = read_runs({"loss": losses})
    expected = [loss for loss in losses if loss < sorted(losses, reverse=True)[k - 1]]
    if expected:
        assert table.exclude_highest(k)["loss"].tolist() == expected
    else:
        with pytest.raises(UsageError):
            table.exclude_highest(k)


@given(st.binary(max_size=200), st.sampled_from(["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a"]))
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_a_table_or_one_of_our_errors(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("bytes") / name
    path.write_bytes(content)
    with contextlib.suppress(InputError, UsageError):
        read_runs(path, drop_bad=True)


@pytest.mark.parametrize("k", [True, "a", None, 2.0, -1, [1]])
def test_exclude_highest_takes_whole_numbers_only(k):
    with pytest.raises(UsageError, match=r"exclude_highest is .*; a whole number from 0 is expected"):
        read_runs({"loss": [3.0, 2.5, 2.0]}, exclude_highest=k)
    assert read_runs({"loss": [3.0, 2.5, 2.0]}, exclude_highest=np.int64(1)).n_runs == 2


@pytest.mark.parametrize("flag", ["drop_bad", "drop_duplicates"])
def test_switches_take_true_and_false_only(flag):
    for value in ("no", 1, None):
        with pytest.raises(UsageError, match=rf"{flag} is .*; True or False is expected"):
            read_runs({"loss": [3.0, 2.5]}, **{flag: value})
