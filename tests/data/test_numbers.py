import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError


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
