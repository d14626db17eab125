import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError, UsageError


def test_suffixes_of_counts_are_read_and_said(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("params,tokens,loss\n350M,7B,3.5\n1.5b,1.4 T,3.25\n900k,1000,3\n")
    table = read_runs(path)
    assert table["params"].tolist() == [350e6, 1.5e9, 900e3]
    assert table["tokens"].tolist() == [7e9, 1.4e12, 1000]
    said = [n.message for n in table.notices if n.code == "suffixed-numbers"]
    assert said[0].startswith('2 values of "tokens"')
    assert said[1].startswith('3 values of "params"')


def test_commas_in_a_semicolon_file_are_not_guessed(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("tokens;loss\n1,234,567,890;3.145\n2000000000;3,145\n")
    with pytest.raises(InputError, match=r"line 3 loss unclear: decimal comma or thousands\?"):
        read_runs(path)
    path.write_text("tokens;loss\n1,234,567,890;3.145\n")
    assert read_runs(path)["tokens"].tolist() == [1234567890]


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        *(("loss", cell) for cell in ("3,145", "0,770", "0,770e1", "1,234e18", "-3,5")),
        *(("flops", cell) for cell in ("3,145", "1,234e18")),
    ],
)
def test_a_comma_that_may_be_a_decimal_mark_is_not_guessed(name, cell):
    source = {"loss": ["3.5", "3.25"], "flops": ["1e18", "2e18"]}
    source[name][1] = cell
    source = {key: source[key] for key in ("loss", name)}
    if (name, cell) == ("flops", "3,145"):
        assert read_runs(source)["flops"].tolist() == [1e18, 3145]
        return
    with pytest.raises(InputError, match=rf"row 1 {name} unclear: decimal comma or thousands\?"):
        read_runs(source)


def test_a_column_that_cannot_be_thousands_decides_its_comma(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("d_model;depth;tokens;loss\n512;6;3000000000;4,23903\n1.024;12;3.000.000.000;3,145\n")
    table = read_runs(path)
    assert table["loss"].tolist() == [4.23903, 3.145]
    assert table["width"].tolist() == [512, 1024]
    assert table["tokens"].tolist() == [3e9, 3e9]
    assert "read commas as decimal marks" in table.history[0]
    assert read_runs(path, where="loss < 4")["loss"].tolist() == [3.145]
    for loss in (["4,23903", "4.25"], ["4,23903", "1,234,567"]):
        with pytest.raises(InputError, match=r"loss unclear: decimal comma or thousands\?"):
            read_runs({"loss": loss, "width": [1, 2]})
    assert read_runs({"loss": ["0,770", "1,125"], "width": ["1,024", "512"]})["width"].tolist() == [1024, 512]


def test_the_decimal_mark_can_be_said():
    source = {"loss": ["3,145", "4,103"]}
    with pytest.raises(InputError, match="--decimal , or --decimal"):
        read_runs(source)
    assert read_runs(source, decimal=",")["loss"].tolist() == [3.145, 4.103]
    assert read_runs(source, decimal=".")["loss"].tolist() == [3145, 4103]
    with pytest.raises(UsageError, match="decimal is ';'; "):
        read_runs(source, decimal=";")


def test_commas_that_can_only_mean_thousands_are_read():
    source = {
        "width": ["1,024"],
        "depth": ["1,000"],
        "params": ["7,000,000,000"],
        "tokens": ["1,500"],
        "flops": ["1,234.5e3"],
        "loss": ["1,234.5"],
    }
    table = read_runs(source)
    assert [table[name].tolist() for name in source] == [[1024], [1000], [7e9], [1500], [1234500], [1234.5]]


def test_a_condition_does_not_guess_the_comma_of_a_loss_either():
    source = {"loss": ["5,770", "3.5"], "tokens": ["1,000", "2,000"]}
    assert read_runs(source, where="loss > 3")["loss"].tolist() == [3.5]
    assert read_runs(source, where="tokens > 1500")["tokens"].tolist() == [2000]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint64, np.float32, np.float64])
def test_every_dtype_becomes_float64(dtype):
    table = read_runs({"width": np.array([64, 100], dtype), "loss": np.array([2, 1], dtype)})
    assert table["width"].dtype == np.float64
    assert table["width"].tolist() == [64, 100]


def test_nothing_overflows():
    source = {
        "width": np.array([65536, 65536], np.int32),
        "depth": np.array([100, 100], np.int32),
        "params": np.array([12 * 65536**2 * 100, 13 * 65536**2 * 100], np.int64),
        "tokens": np.array([2**45, 2**46], np.int64),
        "loss": [2.0, 1.9],
    }
    table = read_runs(source)
    assert (table["width"] ** 2 * table["depth"]).tolist() == [65536**2 * 100] * 2
    assert table["params"].tolist() == [12 * 65536**2 * 100, 13 * 65536**2 * 100]
    assert table.notices == ()  # 13/12 is within 25 %
    assert read_runs(source, where="width ** 2 * depth == 429496729600").n_runs == 2
