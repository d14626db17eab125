"""Every kind of source, and every way in which a file can be broken."""

import gzip
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from depthlaw.data.readers import read_raw
from depthlaw.data.runs import read_runs
from depthlaw.errors import DepthlawError, InputError, UsageError

ROWS = [
    {"width": 512, "depth": 8, "tokens": 2e9, "loss": 3.5},
    {"width": 512, "depth": 16, "tokens": 1e10, "loss": 3.25},
    {"width": 1024, "depth": 8, "tokens": 5e10, "loss": 2.875},
]
CSV = "width,depth,tokens,loss\n512,8,2e9,3.5\n512,16,1e10,3.25\n1024,8,5e10,2.875\n"
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)


def assert_rows(table, lines=(2, 3, 4)):
    assert table["width"].tolist() == [512, 512, 1024]
    assert table["depth"].tolist() == [8, 16, 8]
    assert table["tokens"].tolist() == [2e9, 1e10, 5e10]
    assert table["loss"].tolist() == [3.5, 3.25, 2.875]
    assert table.lines.tolist() == list(lines)


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet_bytes(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


# -- files that are read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("runs.csv", CSV),
        ("runs.tsv", CSV.replace(",", "\t")),
        ("tabs.csv", CSV.replace(",", "\t")),
        ("semicolon.csv", CSV.replace(",", ";")),
        ("pipes.txt", CSV.replace(",", "|")),
        ("no_ending", CSV),
        ("no_last_newline.csv", CSV.rstrip()),
        ("bom.csv", "\ufeff" + CSV),
        ("crlf.csv", CSV.replace("\n", "\r\n")),
        ("bom_crlf.csv", "\ufeff" + CSV.replace("\n", "\r\n")),
        ("old_mac.csv", CSV.replace("\n", "\r")),
        ("header_spaces.csv", CSV.replace("width,depth,tokens,loss", " width , depth,tokens , loss ")),
        ("cell_spaces.csv", CSV.replace(",", " , ")),
        ("thousands.csv", CSV.replace("1024,", '"1,024",').replace("2e9", '"2,000,000,000"')),
        ("underscores.csv", CSV.replace("1024", "1_024").replace("2e9", "2_000_000_000")),
        ("trailing_separator.csv", CSV.replace("\n", ",\n")),
        ("quoted.csv", CSV.replace("512,8", '"512","8"')),
    ],
)
def test_delimited_text(tmp_path, name, text):
    assert_rows(read_runs(written(tmp_path, name, text)))


def test_utf16_as_spreadsheets_write_it(tmp_path):
    assert_rows(read_runs(written(tmp_path, "runs.csv", CSV.replace(",", "\t").encode("utf-16"))))


def test_json_lines(tmp_path):
    assert_rows(read_runs(written(tmp_path, "runs.jsonl", JSONL)), lines=(1, 2, 3))
    assert_rows(read_runs(written(tmp_path, "log.txt", JSONL)), lines=(1, 2, 3))


def test_json_array(tmp_path):
    table = read_runs(written(tmp_path, "runs.json", json.dumps(ROWS)))
    assert_rows(table, lines=(0, 1, 2))
    assert table.place(0) == "row 0"


def test_parquet_whatever_its_name(tmp_path):
    data = parquet_bytes(pa.Table.from_pylist(ROWS))
    for name in ("runs.parquet", "runs.bin"):
        assert_rows(read_runs(written(tmp_path, name, data)), lines=(0, 1, 2))


@pytest.mark.parametrize(
    "name", ["runs.csv.gz", "runs.tsv.gz", "runs.jsonl.gz", "runs.parquet.gz", "runs.csv"]
)
def test_gzip_whatever_its_name(tmp_path, name):
    content = {
        "tsv": CSV.replace(",", "\t").encode(),
        "jsonl": JSONL.encode(),
        "parquet": parquet_bytes(pa.Table.from_pylist(ROWS)),
    }.get(name.split(".")[1], CSV.encode())
    table = read_runs(written(tmp_path, name, gzip.compress(content)))
    assert table["loss"].tolist() == [3.5, 3.25, 2.875]


def test_lines_are_those_an_editor_shows(tmp_path):
    text = '\n\nname,width,loss\n"two\nlines",512,3.5\n\n\nb,512,3.25\n"c\r\n\r\nd",1024,2.875\ne,1024,2.5\n'
    table = read_runs(written(tmp_path, "runs.csv", text))
    assert table.lines.tolist() == [4, 8, 9, 12]


def test_lines_of_json_lines_count_blank_ones(tmp_path):
    table = read_runs(written(tmp_path, "runs.jsonl", "\n" + JSONL.replace("\n", "\n\n")))
    assert_rows(table, lines=(2, 4, 6))
    # characters that end a line for str.splitlines() but are legal inside JSON
    text = '{"name": "a\u2028b", "loss": 3}\n{"name": "c", "loss": 2}\n'
    assert read_runs(written(tmp_path, "u.jsonl", text)).lines.tolist() == [1, 2]


def test_nested_json_is_flattened(tmp_path):
    text = "".join(
        json.dumps({"config": {"d_model": 512 * i, "n_layers": 8}, "summary": {"val_loss": 4 - i / 10}})
        + "\n"
        for i in (1, 2, 3)
    )
    table = read_runs(written(tmp_path, "wandb.jsonl", text))
    assert [use.source for use in table.mapping] == ["config.d_model", "config.n_layers", "summary.val_loss"]


def test_folder(tmp_path):
    written(tmp_path, "b.csv", CSV)
    written(tmp_path, "a.csv.gz", gzip.compress(CSV.replace("3.5", "3.75").encode()))
    written(tmp_path, "notes.md", "no table")
    written(tmp_path, "expected.json", "{}")
    written(tmp_path, ".hidden.csv", "nothing")
    table = read_runs(tmp_path)
    assert table.n_runs == 6
    assert table.files.tolist() == ["a.csv.gz"] * 3 + ["b.csv"] * 3
    assert table.place(0) == "a.csv.gz line 2"
    assert table.place(3) == "b.csv line 2"
    assert table["loss"][0] == 3.75


def test_folder_bad_rows_name_their_file(tmp_path):
    written(tmp_path, "a.csv", CSV)
    written(tmp_path, "b.csv", CSV.replace("3.25", ""))
    with pytest.raises(InputError, match=r"b\.csv line 3 loss missing"):
        read_runs(tmp_path)


def test_folder_of_different_columns_says_so(tmp_path):
    written(tmp_path, "a.csv", CSV)
    written(tmp_path, "b.csv", CSV.replace("loss", "loss,lr").replace("3.5", "3.5,0.1"))
    with pytest.raises(InputError, match=r"b\.csv line 3 4 cells, the header has 5"):
        read_runs(tmp_path)
    written(tmp_path, "b.csv", CSV.replace("tokens,", "").replace("2e9,", ""))
    with pytest.raises(InputError, match=r"b\.csv line 2 tokens missing"):
        read_runs(tmp_path)
    written(tmp_path, "b.csv", "depth,width,loss,tokens,lr\n8,512,3,1e9,.1\n")
    table = read_runs(tmp_path)
    assert table["width"].tolist() == [512, 512, 1024, 512]
    assert table["depth"].tolist() == [8, 16, 8, 8]
    assert [notice.code for notice in table.notices] == ["columns-differ"]


# -- tables in memory ----------------------------------------------------------------------------------


def as_columns(rows=ROWS):
    return {name: [row[name] for row in rows] for name in rows[0]}


class OldFrame:
    """A data frame whose only bridge is ``to_arrow``, as early polars."""

    def to_arrow(self):
        return pa.table(as_columns())


class ArrowFrame:
    """A data frame that speaks Arrow's C interface, as polars and DuckDB do."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(as_columns()).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        as_columns(),
        {name: np.array(values) for name, values in as_columns().items()},
        {name: tuple(values) for name, values in as_columns().items()},
        {name: pa.array(values) for name, values in as_columns().items()},
        ROWS,
        tuple(ROWS),
        pa.table(as_columns()),
        OldFrame(),
        ArrowFrame(),
    ],
    ids=[
        "lists",
        "arrays",
        "tuples",
        "arrow-arrays",
        "records",
        "record-tuple",
        "arrow",
        "old-frame",
        "c-stream",
    ],
)
def test_tables_in_memory(source):
    table = read_runs(source)
    assert_rows(table, lines=(0, 1, 2))
    assert table.line_kind == "row"


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, index=[7, 3, 5])
    assert_rows(read_runs(frame), lines=(7, 3, 5))
    named = frame.assign(run_name=["a", "a", "b"]).set_index("run_name")
    assert_rows(read_runs(named), lines=(0, 1, 2))
    assert read_runs(named, cluster="run_name").clusters.tolist() == ["a", "a", "b"]
    gaps = frame.astype({"width": "Int32"})
    gaps.loc[3, "width"] = pandas.NA
    with pytest.raises(InputError, match="row 3 width missing"):
        read_runs(gaps)
    frame["loss"] = ["3.5", None, "n.a."]
    with pytest.raises(InputError, match=r'row 3 loss missing, row 5 loss not a number \("n\.a\."\)'):
        read_runs(frame)


def test_rows_of_a_filtered_frame_are_named_by_their_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"width": [1, 2, 4, 8], "loss": [3.0, 2.5, None, 2.0]})
    with pytest.raises(InputError, match="row 2 loss NaN"):
        read_runs(frame[frame.width > 2])
    assert read_runs(frame[frame.width > 2], drop_bad=True).lines.tolist() == [3]
    for index in ([5, 5, 6, 7], list("abcd"), [0.5, 1, 2, 3]):  # numbers that name no row: positions
        assert read_runs(frame.set_index(pandas.Index(index)), drop_bad=True).lines.tolist() == [0, 1, 3]


def test_rows_of_a_frame_with_an_index_of_text_are_named_by_their_label():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"width": [1, 2, 4], "loss": [3.0, None, 2.0]}, index=["a", "run 7", "c"])
    with pytest.raises(InputError, match='row "run 7" loss NaN'):
        read_runs(frame)
    table = read_runs(frame.rename_axis("run"), drop_bad=True)
    assert [table.place(row) for row in (0, 1)] == ['row "a"', 'row "c"']
    assert table.take([1], "the last").to_table()["name"].to_pylist() == ["c"]
    deep = frame.set_index(pandas.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    with pytest.raises(InputError, match='row "a, 2" loss NaN'):
        read_runs(deep)


def test_pandas_two_columns_of_one_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2.0, 3.0]], columns=["width", "loss", "loss"])
    with pytest.raises(InputError, match='two columns are called "loss"'):
        read_runs(frame)


def test_parquet_with_nulls_and_structs(tmp_path):
    rows = [{"config": {"d_model": 512}, "loss": 3.0}, {"config": {"d_model": None}, "loss": 2.5}]
    path = written(tmp_path, "runs.parquet", parquet_bytes(pa.Table.from_pylist(rows)))
    with pytest.raises(InputError, match=r"row 1 config\.d_model missing"):
        read_runs(path)


def test_reading_does_not_change_or_alias_the_arrays():
    loss = np.array([3.0, 2.0])
    table = read_runs({"width": np.array([1, 2]), "loss": loss})
    assert not table["loss"].flags.writeable
    assert loss.flags.writeable
    loss[0] = 9.0
    assert table["loss"][0] == 3.0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"width": [1, 2], "loss": [3.0]}, r"differ in length \(width 2, loss 1\)"),
        ({"width": [1, 2], "loss": np.ones((2, 2))}, r'"loss" has shape \(2, 2\)'),
        ({"width": np.float64(3.0)}, r'"width" has shape \(\)'),
        ({"width": 5}, '"width" is a single int'),
        ({"width": "512"}, '"width" is a str'),
        ({"width": [], "loss": []}, "has no rows"),
        ({}, "has no rows"),
        ([], "has no rows"),
        (pa.table({"loss": pa.array([], pa.float64())}), "has no rows"),
    ],
)
def test_broken_tables_in_memory(source, message):
    with pytest.raises(InputError, match=message):
        read_runs(source)


@pytest.mark.parametrize("source", [None, 3, object(), [1, 2], np.ones(3), b"width,loss"])
def test_what_is_no_table_is_refused(source):
    with pytest.raises(UsageError, match="Runs cannot be read from"):
        read_runs(source)


# -- files that are broken -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b" \n\n", "is empty"),
        ("only_bom.csv", b"\xef\xbb\xbf", "is empty"),
        ("empty.jsonl", b"\n", "is empty"),
        ("header.csv", b"width,loss\n", "has a header and no rows"),
        ("no_header.csv", b"512,3.5\n512,3.4\n", "first line holds numbers"),
        ("twice.csv", b"loss,loss\n1,2\n", 'two columns are called "loss"'),
        ("open_quote.csv", b'name,loss\na,3\n"b,2\nc,1\n', "row that starts in line 3 cannot be read"),
        ("binary.csv", b"\x00\x01\x02\x03" * 10, "binary file"),
        ("other.csv", b"width,gr\x81e\n1,2\n", r"line 1 is not UTF-8 text \(byte 0x81\)"),
        ("picture.csv", b"\x89PNG\r\n\x1a\n\xff\xff", "is not UTF-8 text"),
        ("book.xlsx", b"PK\x03\x04rest", r"workbook \(\.xlsx\)"),
        ("text.parquet", b"width,loss\n1,2\n", "is not a Parquet file"),
        ("cut.parquet", b"PAR1 and nothing more", "is not a readable Parquet file"),
        ("cut.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-12], "gzip data are damaged"),
        ("bent.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:10] + b"\xff" * 30, "gzip data are damaged"),
        ("words.jsonl", b"width loss\n1 2\n", "line 1 is not JSON"),
        ("numbers.jsonl", b"1\n2\n", "line 1 is not a JSON object"),
        ("object.json", b"[1, 2]", "not a JSON array of objects"),
        ("broken.json", b"[{", "is not JSON"),
        ("deep.jsonl", b"[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_broken_files_give_one_clear_error(tmp_path, name, content, message):
    path = written(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as error:
        read_runs(path)
    assert str(error.value).startswith(str(path))
    assert len(str(error.value).splitlines()) <= 3


def test_missing_file_suggests_its_neighbour(tmp_path):
    written(tmp_path, "runs.csv", CSV)
    with pytest.raises(InputError, match="no such file") as error:
        read_runs(tmp_path / "run.csv")
    assert error.value.hint == f"Did you mean {tmp_path / 'runs.csv'}?"
    with pytest.raises(InputError, match="no such file"):
        read_runs(tmp_path / "nowhere" / "runs.csv")


def test_paths_that_cannot_be_opened(tmp_path, monkeypatch):
    path = written(tmp_path, "runs.csv", CSV)

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(permission denied\)"):
        read_runs(path)
    monkeypatch.undo()
    with pytest.raises(DepthlawError):
        read_runs("runs\0.csv")
    with pytest.raises(DepthlawError):
        read_runs("x" * 5000)
    with pytest.raises(UsageError, match="A path is expected"):
        read_runs(CSV)


def test_folder_without_tables(tmp_path):
    with pytest.raises(InputError, match="holds no table of runs"):
        read_runs(tmp_path)


def test_ragged_rows_are_bad_rows(tmp_path):
    path = written(tmp_path, "runs.csv", CSV.replace("512,16,1e10,3.25", "512,16,3.25") + "1,2,3,4,5\n")
    with pytest.raises(InputError) as error:
        read_runs(path)
    assert "line 3 3 cells, the header has 4" in str(error.value)
    assert "line 5 5 cells, the header has 4" in str(error.value)
    assert "loss missing" not in str(error.value)
    table = read_runs(path, drop_bad=True)
    assert table.lines.tolist() == [2, 4]


def test_a_log_cut_short_loses_only_its_last_line(tmp_path):
    path = written(tmp_path, "runs.jsonl", JSONL + '{"width": 512, "dep')
    with pytest.raises(InputError, match=r"line 4 not JSON"):
        read_runs(path)
    assert_rows(read_runs(path, drop_bad=True), lines=(1, 2, 3))


def test_index_column_without_a_name(tmp_path):
    path = written(tmp_path, "runs.csv", ",width,loss\n0,512,3.5\n1,1024,3.25\n")
    assert read_raw(path).headers == ["column 1", "width", "loss"]


def test_reading_a_csv_imports_neither_pandas_nor_torch(tmp_path):
    import subprocess

    path = written(tmp_path, "runs.csv", CSV)
    code = (
        "import sys; from depthlaw.data.runs import read_runs; "
        "assert 'pyarrow' not in sys.modules; read_runs(sys.argv[1]); "
        "print({'pandas', 'torch', 'matplotlib', 'pyarrow', 'polars'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("above", ["# made by me", "sep=,", "made by me; and you", "Results of May", "a,b"])
def test_a_first_line_that_is_not_the_header_is_named(tmp_path, above):
    path = written(tmp_path, "runs.csv", f"{above}\n{CSV}")
    with pytest.raises(InputError, match=r"line 1 \(.*\) is not the header: none of the 4 rows") as error:
        read_runs(path, drop_bad=True)
    assert "--drop-bad" not in str(error.value)
    assert len(str(error.value).splitlines()) <= 3


def test_columns_without_a_name_are_said(tmp_path):
    path = written(tmp_path, "runs.csv", CSV.replace("width,", ""))  # as R writes row names
    with pytest.raises(InputError, match="is not the header") as error:
        read_runs(path)
    assert error.value.hint == "Remove what stands above the names of the columns, or name each column."


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_not_the_current_folder(path):
    with pytest.raises(UsageError, match="A path is expected, not"):
        read_runs(path)


def test_windows_1252_is_read_and_said(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_bytes("width,loss,größe\n1,3.5,klein\n2,3.25,groß\n".encode("cp1252"))
    table = read_runs(path)
    assert table.headers == ("width", "loss", "größe")
    assert [n.code for n in table.notices if n.code == "windows-1252"]
    path.write_text("width,loss,größe\n1,3.5,klein\n2,3.25,groß\n", encoding="utf-8")
    assert not read_runs(path).notices


@pytest.mark.parametrize(
    "document",
    [
        {"runs": [{"width": 1, "loss": 3.5}, {"width": 2, "loss": 3.25}]},
        {"schema": 1, "name": "x", "runs": [{"width": 1, "loss": 3.5}, {"width": 2, "loss": 3.25}]},
        {"width": [1, 2], "loss": [3.5, 3.25]},
        [{"width": 1, "loss": 3.5}, {"width": 2, "loss": 3.25}],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_of_every_shape_that_holds_rows(tmp_path, document, indent):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(document, indent=indent))
    table = read_runs(path)
    assert (table["width"].tolist(), table["loss"].tolist()) == ([1, 2], [3.5, 3.25])


def test_json_that_holds_one_run_or_no_rows(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"width": 1, "loss": 3.5}, indent=2))
    assert read_runs(path)["loss"].tolist() == [3.5]
    for document, said in (
        ({"a": [{"loss": 1}], "b": [{"loss": 2}]}, r'several tables \("a", "b"\)'),
        ({"a": [1, 2], "b": [1]}, "nor an object of columns"),
    ):
        path.write_text(json.dumps(document))
        with pytest.raises(InputError, match=said):
            read_runs(path)


def test_a_run_folder_is_called_that(tmp_path):
    (tmp_path / "manifest.json").write_text('{"schema": 1, "verb": "probe"}')
    (tmp_path / "tokens.csv").write_text("width,loss\n1,3\n")
    with pytest.raises(InputError, match="is a run of depthlaw probe, not a folder of tables"):
        read_runs(tmp_path)
    assert len(read_runs(tmp_path / "tokens.csv")) == 1
