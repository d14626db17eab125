import dataclasses

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError, UsageError

GOOD = {
    "width": [512, 512, 1024],
    "depth": [8, 16, 8],
    "tokens": [2e9, 1e10, 5e10],
    "loss": [3.5, 3.25, 2.875],
}


def test_exclude_highest_leaves_rows_strictly_below_the_kth_largest():
    table = read_runs({"loss": [5.0, 4.0, 4.0, 3.0, 2.0]})
    assert table.exclude_highest(0) is table
    assert table.exclude_highest(1)["loss"].tolist() == [4, 4, 3, 2]
    assert table.exclude_highest(1).history == ("excluded the highest loss (>= 5): 4 of 5 rows kept",)
    for k in (2, 3):
        assert table.exclude_highest(k)["loss"].tolist() == [3, 2]
    assert table.exclude_highest(2).history == (
        "excluded the 2 highest losses (>= 4; 2 rows tie at the cut): 2 of 5 rows kept",
    )
    for k in (-1, 1.5, 5, 6):
        with pytest.raises(UsageError):
            table.exclude_highest(k)
    with pytest.raises(UsageError, match="leaves no row: all tie at 3"):
        read_runs({"loss": [3.0, 3.0, 3.0]}).exclude_highest(1)
    with pytest.raises(UsageError, match="no column was recognised as the loss"):
        read_runs({"width": [1, 2]}, exclude_highest=1)


def test_steps_stand_in_the_history_in_their_order():
    source = {"loss": [9.0, 5.0, 4.0, 4.0, 3.0, -1.0], "width": [1, 2, 3, 3, 5, 6]}
    table = read_runs(source, where="loss < 8", drop_bad=True, drop_duplicates=True, exclude_highest=1)
    assert table.history == (
        'kept 5 of 6 rows where "loss < 8"',
        "dropped 1 bad row (loss: 1 negative)",
        "dropped 1 exact copy of another row: 3 of 4 rows kept",
        "excluded the highest loss (>= 5): 2 of 3 rows kept",
    )
    assert table.lines.tolist() == [2, 4]


def test_take():
    table = read_runs({**GOOD, "w": [1, 2, 3], "run": ["a", "b", "b"]}, weights="w", cluster="run")
    masked = table.take(np.array([True, False, True]), "every other row")
    assert masked.history == ("every other row",)
    picked = table.take([2, 0], "by hand")
    assert picked["loss"].tolist() == [2.875, 3.5]
    assert picked.weights.tolist() == [3, 1]
    assert picked.clusters.tolist() == ["b", "a"]
    assert picked.lines.tolist() == [2, 0]
    assert len({table.sha256, masked.sha256, picked.sha256}) == 3
    with pytest.raises(InputError, match=r"no row is left \(nothing\)"):
        table.take(np.zeros(3, bool), "nothing")


def test_table_is_frozen():
    table = read_runs(GOOD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.source = "other"
    with pytest.raises(ValueError, match="read-only"):
        table["loss"][0] = 1.0


def test_repr_and_html():
    table = read_runs({**GOOD, "<b>": ["x"] * 3, "w": [1, 1, 1]}, weights="w", where="`<b>` == 'x'")
    assert repr(table) == "RunTable(3 runs from dict: width, depth, tokens, loss)"
    html = table._repr_html_()
    assert "<b>3 runs from dict</b>" in html
    assert "kept 3 of 3 rows where &quot;`&lt;b&gt;` == &#x27;x&#x27;&quot;" in html


def test_to_table_reads_back():
    source = {**GOOD, "w": [1, 2, 3], "run": ["a", "a", "b"], "params": [1, None, 3]}
    table = read_runs(source, weights="w", cluster="run")
    arrow = table.to_table()
    assert arrow.column_names == ["width", "depth", "tokens", "params", "loss", "weights", "cluster", "row"]
    assert arrow.schema.field("loss").metadata == {b"unit": b"nats per token", b"source": b"loss"}
    assert arrow.schema.field("weights").metadata[b"source"] == b"w"
    again = read_runs(arrow, weights="weights", cluster="cluster")
    assert again.sha256 == table.sha256


def test_identity_is_that_of_the_content(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("n_layers,d_model,loss\n8,512,3.5\n16,512,3.25\n")
    same = read_runs({"width": [512.0, 512.0], "loss": [3.5, 3.25], "depth": [8, 16], "note": ["a", "b"]})
    assert read_runs(path).sha256 == same.sha256
    others = [
        {"width": [512, 512], "depth": [8, 16], "loss": [3.5, 3.26]},
        {"width": [512, 512], "depth": [16, 8], "loss": [3.25, 3.5]},
        {"width": [512, 512], "tokens": [8, 16], "loss": [3.5, 3.25]},
    ]
    assert same.sha256 not in {read_runs(other).sha256 for other in others}
