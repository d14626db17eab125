import numpy as np
import pyarrow as pa
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError, UsageError

GOOD = {
    "width": [512, 512, 1024],
    "depth": [8, 16, 8],
    "tokens": [2e9, 1e10, 5e10],
    "loss": [3.5, 3.25, 2.875],
}


def notice(table, code):
    return next(n for n in table.notices if n.code == code)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("", "missing"),
        ("NA", "missing"),
        ("null", "missing"),
        ("nan", "NaN"),
        ("inf", "infinite"),
        ("-Infinity", "infinite"),
        ("1e999", "infinite"),
        ("0", "zero"),
        ("-0.0", "zero"),
        ("-2.5", r"negative \(-2.5\)"),
        ("abc", r'not a number \("abc"\)'),
        ("3.1.4", r'not a number \("3.1.4"\)'),
        ('"3,14"', r'unclear: decimal comma or thousands\? \("3,14"\)'),
        ('"5,770"', r'unclear: decimal comma or thousands\? \("5,770"\)'),
        ('"5,770e0"', r'unclear: decimal comma or thousands\? \("5,770e0"\)'),
        ('"1,23,456"', r'not a number \("1,23,456"\)'),
        ("0x10", r'not a number \("0x10"\)'),
        ("3M", r'not a number \("3M"\)'),
        ("a very long text that would fill the screen", r'not a number \("a very long text that w…"\)'),
    ],
)
def test_reasons(tmp_path, cell, reason):
    path = tmp_path / "runs.csv"
    path.write_text(f"width,loss\n512,3.5\n512,{cell}\n")
    with pytest.raises(InputError, match=f"1 of 2 rows cannot be used:\nline 3 loss {reason}\\."):
        read_runs(path)


@pytest.mark.parametrize("cell", [None, True, "x", b"3", 3j, [3], {"a"}, np.datetime64("2024-01-01")])
def test_objects_that_are_no_numbers(cell):
    with pytest.raises(InputError, match=r"row 1 loss (missing|not a number)"):
        read_runs({"loss": [3.0, cell]})


@pytest.mark.parametrize(
    "loss",
    [
        np.ma.masked_array([3.5, 3.25, 2.875], mask=[0, 1, 0]),
        np.ma.masked_array([3, 4, 2], mask=[0, 1, 0]),
        list(np.ma.masked_array([3.5, 3.25, 2.875], mask=[0, 1, 0])),
        pa.array([3.5, None, 2.875]),
        pa.chunked_array([[3], [None, 2]]),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_what_a_mask_hides_is_missing_and_not_the_number_below_it(loss):
    with pytest.raises(InputError, match=r"1 of 3 rows cannot be used:\nrow 1 loss (missing|NaN)\."):
        read_runs({**GOOD, "loss": loss})
    assert read_runs({**GOOD, "loss": loss}, drop_bad=True)["width"].tolist() == [512, 1024]


def test_gaps_of_pandas_in_a_dict_are_missing():
    pandas = pytest.importorskip("pandas")
    for loss in (
        pandas.array([3.5, None, 2.875], dtype="Float64"),
        pandas.Series([3, None, 2], dtype="Int64"),
    ):
        with pytest.raises(InputError, match=r"1 of 3 rows cannot be used:\nrow 1 loss (missing|NaN)\."):
            read_runs({**GOOD, "loss": loss})


def test_a_mask_that_hides_nothing_changes_nothing():
    table = read_runs({**GOOD, "loss": np.ma.masked_array(GOOD["loss"])})
    assert table["loss"].tolist() == GOOD["loss"]


def test_masked_labels_and_weights_are_missing():
    weights = np.ma.masked_array([1.0, 1.0, 1.0], mask=[0, 0, 1])
    with pytest.raises(InputError, match="row 2 w missing"):
        read_runs({**GOOD, "w": weights}, weights="w")
    labels = np.ma.masked_array(["a", "b", "c"], mask=[1, 0, 0])
    with pytest.raises(InputError, match="row 0 id missing"):
        read_runs({**GOOD, "id": labels}, cluster="id")


def test_an_integer_too_large_for_float_is_infinite():
    with pytest.raises(InputError, match="row 1 params infinite"):
        read_runs({"loss": [3.0, 2.0], "params": [1, 10**400]})


def test_a_fault_of_a_whole_column_is_one_sentence():
    source = {"tokens": ["3B tokens"] * 9, "loss": ["4.2 ± 0.01"] * 9, "width": ["7 %"] * 8 + ["8"]}
    with pytest.raises(InputError) as error:
        read_runs(source)
    assert 'tokens is not a number ("3B tokens") in row 0 and all other rows, words stand' in str(error.value)
    assert 'loss is not a number ("4.2 ± 0.01") in row 0 and all other rows, errors (±)' in str(error.value)
    assert "row 5" not in str(error.value)
    assert len(str(error.value).splitlines()) == 3


def test_when_every_row_is_bad_dropping_them_is_not_offered():
    with pytest.raises(InputError, match="3 of 3 rows cannot be used") as error:
        read_runs({**GOOD, "loss": ["a", "b", "c"]}, drop_bad=True)
    assert "drop" not in error.value.hint


def test_many_bad_rows_take_three_lines():
    loss = np.where(np.arange(1000) % 2, 3.0, np.nan)
    with pytest.raises(InputError) as error:
        read_runs({"loss": loss})
    text = str(error.value)
    assert len(text.splitlines()) == 3
    assert "500 of 1000 rows" in text
    assert "row 10 loss NaN, and 494 more (row 12, row 14," in text
    assert len(text) < 500


def test_several_faults_of_one_row_stand_together():
    with pytest.raises(InputError, match=r"row 0 width zero and loss negative \(-1\)\."):
        read_runs({"width": [0, 1], "loss": [-1, 2]})


def test_dropping_bad_rows_is_counted():
    source = {"width": [0, 1, 1, 1], "loss": [3, "x", None, 2]}
    table = read_runs(source, drop_bad=True)
    assert table.lines.tolist() == [3]
    assert table.history == ("dropped 3 bad rows (width: 1 zero; loss: 1 not a number, 1 missing)",)
    assert notice(table, "bad-rows-dropped").rows == (0, 1, 2)


def test_a_table_of_bad_rows_only_is_an_error_even_when_they_may_be_dropped():
    with pytest.raises(InputError, match="2 of 2 rows cannot be used"):
        read_runs({"loss": [0, -1]}, drop_bad=True)


def test_only_columns_that_matter_are_checked():
    source = {**GOOD, "params": [1e8, None, -1], "flops": ["x", 1, 1]}
    table = read_runs(source)
    assert np.isnan(table["params"][1])
    assert np.isnan(table["flops"][0])
    with pytest.raises(InputError, match=r'2 of 3 rows have no usable params \("params"\):\nrow 1, row 2'):
        table.require("loss", "params")
    with pytest.raises(InputError, match="row 1 params missing"):
        read_runs(source, use=["params", "loss"])
    with pytest.raises(InputError, match="row 1 params missing"):
        read_runs(source, params="params")  # given, so it is meant
    without_depth = {name: column for name, column in source.items() if name != "depth"}
    with pytest.raises(InputError, match="row 1 params missing"):
        read_runs(without_depth)
    with pytest.raises(UsageError, match='quantity "parms" not found'):
        read_runs(source, use=["parms"])


def test_require_names_the_option():
    table = read_runs({"d_model": [1, 2], "layers": [3, 4], "loss": [3.0, 2.0]})
    table.require("width", "loss")
    with pytest.raises(UsageError) as error:
        table.require("width", "depth")
    assert "no column was recognised as the depth (have: d_model, layers, loss)" in error.value.message
    assert "--depth COLUMN" in error.value.hint
    assert "n_layers" in error.value.hint
    with pytest.raises(UsageError, match='quantity "heigth" not found'):
        table["heigth"]


def test_weights():
    table = read_runs({**GOOD, "w": [1, 0, 2.5]}, weights="w")
    assert table.weights.tolist() == [1, 2.5]
    assert table.lines.tolist() == [0, 2]
    assert table.history == ("left out 1 row of weight 0",)
    assert table.mapping[-1].name == "weights"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1], r"row 1 w negative \(-1\)"),
        ([1, np.inf, 1], "row 1 w infinite"),
        ([1, None, 1], "row 1 w missing"),
        ([0, 0, 0], 'every weight in "w" is zero'),
    ],
)
def test_unusable_weights(weights, message):
    with pytest.raises(InputError, match=message):
        read_runs({**GOOD, "w": weights}, weights="w")
