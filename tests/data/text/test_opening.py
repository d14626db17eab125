import csv
import gzip
import io
import json
import os
import sys
import threading
import types
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from depthlaw.data.text.config import TextConfig
from depthlaw.data.text.local import StreamText
from depthlaw.data.text.opening import open_text
from depthlaw.data.text.records import Document, RecordReader
from depthlaw.errors import InputError, UsageError


def read(source, **options):
    return [(document.id, document.text) for document in open_text(source, **options).documents()]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n\n{"text": "two", "id": 7}\n{"text": null}\n')
    return path


def test_json_lines_are_documents_known_by_their_line(lines):
    assert read(lines) == [("a.jsonl:1", "one"), ("a.jsonl:3", "two"), ("a.jsonl:4", "")]


def test_own_ids_are_taken_when_the_first_line_has_them(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one", "id": "x"}\n{"text": "two", "id": 7}\n{"text": "three"}\n')
    assert [name for name, _ in read(path)] == ["x", "7", "a.jsonl:3"]


def test_a_json_list_of_objects_or_of_texts(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('\n[\n  {"text": "one", "id": "x"},\n  {"text": "two"}\n]\n')
    assert read(path) == [("x", "one"), ("a.json:2", "two")]
    path.write_text('["one", "two"]')
    assert read(path) == [("a.json:1", "one"), ("a.json:2", "two")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
@pytest.mark.parametrize("packed", [False, True])
def test_utf_16_is_read_as_other_programs_write_it(tmp_path, encoding, packed):
    lines = ["text,n", "Ċ and \u0a0a,1", "😀,2"]
    mark = "" if encoding == "utf-16" else "\ufeff"
    data = (mark + "\n".join(lines)).encode(encoding)
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert read(path) == [("a.csv:2", "Ċ and \u0a0a"), ("a.csv:3", "😀")]


def test_a_pipe_under_a_name_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=('{"text": "one"}\n{"text": "two"}\n',))
    writer.start()
    source = open_text(pipe)
    assert source.identity is None
    assert [document.text for document in source.documents()] == ["one", "two"]
    writer.join()


def test_standard_input_has_a_name_too(monkeypatch):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"one")))
    assert [document.text for document in open_text("/dev/stdin").documents()] == ["one"]


@pytest.mark.parametrize("setting", [{"text_split": "test"}, {"text_config": "x"}, {"text_revision": "v1"}])
def test_settings_of_the_hub_are_not_those_of_a_file(lines, setting):
    with pytest.raises(UsageError, match=rf"{next(iter(setting))} is for data sets of the hub"):
        TextConfig(**setting).open(lines)
    assert TextConfig(**setting).open("hf:a/b").name == "hf:a/b"


def test_text_with_separator_lines_is_split(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text(
        "\ufeffonce\nupon\n<|endoftext|>\n\n<|endoftext|>\na <|endoftext|> inside\n<|endoftext|>\n"
    )
    assert read(path) == [
        ("stories.txt:1", "once\nupon"),
        ("stories.txt:4", ""),
        ("stories.txt:6", "a <|endoftext|> inside"),
    ]
    assert "split at lines <|endoftext|>" in open_text(path).description


def test_text_without_separator_is_one_document_under_the_name_of_its_file(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("one\n\ntwo")
    assert read(path) == [("book.txt", "one\n\ntwo")]


def test_csv_with_long_fields_and_line_breaks(tmp_path):
    path, limit = tmp_path / "a.csv", csv.field_size_limit()
    long = "word " * 60_000
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["n", "Content"], [1, "one\ntwo"], [2, long], [3, "last"]])
    assert read(path) == [("a.csv:2", "one\ntwo"), ("a.csv:4", long), ("a.csv:5", "last")]
    assert csv.field_size_limit() == limit


def test_parquet_rows_and_ids(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"uuid": ["u", None], "raw_content": ["one", "two"], "n": [1, 2]}), path)
    assert read(path) == [("u", "one"), ("a.parquet:2", "two")]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_packed_files_whatever_their_name(lines, packing, times):
    # Several packed parts one behind the other, as parallel packers write them.
    plain, name = lines.read_bytes(), lines.name
    part = gzip.compress(plain) if packing == "gzip" else pa.compress(plain, codec=packing, asbytes=True)
    for path in (lines.with_name(name + {"gzip": ".gz", "zstd": ".zst"}[packing]), lines):
        path.write_bytes(part * times)
        assert [text for _, text in read(path)] == ["one", "two", ""] * times


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_truncated_packed_file_is_an_error(tmp_path, packing):
    rows = "".join(f'{{"text": "{i * i}"}}\n' for i in range(20_000)).encode()
    part = gzip.compress(rows) if packing == "gzip" else pa.compress(rows, codec=packing, asbytes=True)
    path = tmp_path / "a.jsonl.packed.jsonl"
    path.write_bytes(part[: len(part) // 2])
    with pytest.raises(InputError, match=r"a\.jsonl\.packed\.jsonl: the packed data are damaged"):
        read(path)


def test_folder_is_read_in_order_of_names_with_hidden_and_other_files_left_out(tmp_path):
    for name in ("b.txt", "a/z.txt", ".hidden.txt", ".git/x.txt", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert read(tmp_path) == [("a/z.txt", "a/z.txt"), ("b.txt", "b.txt")]


def test_skip_continues_where_reading_stopped(lines):
    source = open_text(lines)
    whole = list(source.documents())
    assert [document.index for document in whole] == [0, 1, 2]
    for n in range(4):
        assert list(source.documents(n)) == whole[n:]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "x"}\n{"text": \n', r"a\.jsonl:2: is not JSON"),
        (
            "a.jsonl",
            '{"text": "x\ty"}\n',
            r"a\.jsonl:1: is not JSON \(invalid control character at character 12\)",
        ),
        ("a.json", '[{"text": "x"}, 3]', r"a\.json:2: is JSON, but not an object"),
        (
            "a.json",
            '[{"text": "x"},\n{"text": ',
            r"a\.json:2: is not JSON \(expecting value at character 10\)",
        ),
        ("a.txt", b"\xff\xfea\x00\n\x00\x00\xd8a\x00", r"a\.txt: is not UTF-16"),
        ("a.jsonl", '{"text": "x"}\n["y"]\n', r"a\.jsonl:2: is JSON, but not an object"),
        ("a.jsonl", '{"text": "x"}\n{"txt": "y"}\n', r'a\.jsonl:2: no "text" here'),
        ("a.jsonl", '{"text": "x"}\n{"text": 3}\n', r'a\.jsonl:2: "text" is int, not text'),
        ("a.jsonl", '{"txt": "x", "n": 1}\n', r"a\.jsonl:1: which column is the text\? \(have: txt, n\)"),
        ("a.csv", "text,n\nx,1\ny\n", r"a\.csv:3: 1 fields where the header has 2"),
        ("a.csv", 'text,n\nx,1\n"y,1\n', r"a\.csv:3: is not a table row"),
        ("a.txt", b"one\n\xe9t\xe9\n", r"a\.txt:2: is not UTF-8 \(byte 0xe9\)"),
        ("a.parquet", b"nothing of the kind", r"a\.parquet: is not a readable Parquet file"),
        ("a.doc", "x", r"a\.doc: not a known ending"),
    ],
)
def test_errors_name_file_and_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        read(path)


def test_the_text_column_can_be_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x", "summary": "y"}\n')
    assert read(path, text_column="summary") == [("a.jsonl:1", "y")]
    with pytest.raises(InputError, match="Did you mean --text-column summary"):
        read(path, text_column="sumary")


def test_halves_of_surrogate_pairs_become_replacement_characters(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(r'{"text": "a\ud83d b\ud83d\ude00"}')
    assert read(path)[0][1] == "a\ufffd b\U0001f600"


def test_missing_files_and_empty_folders(tmp_path, lines):
    with pytest.raises(InputError, match=r"Did you mean .*a\.jsonl"):
        open_text(tmp_path / "b.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no text"):
        open_text(tmp_path / "empty")
    with pytest.raises(UsageError, match="cannot be read from int"):
        open_text(3)


def test_identity_sees_content_and_not_place(tmp_path, lines):
    before = open_text(lines).identity
    (tmp_path / "else").mkdir()
    moved = lines.rename(tmp_path / "else" / lines.name)
    assert open_text(moved).identity == before
    assert open_text(moved, text_column="id").identity != before
    moved.write_text(moved.read_text().replace("two", "six"))
    assert open_text(moved).identity != before
    source = open_text(moved)
    moved.unlink()
    with pytest.raises(InputError, match="there is no such file"):
        _ = source.identity


def test_identity_of_a_large_file_sees_both_ends(tmp_path):
    path = tmp_path / "large.txt"
    seen = set()
    for first, last in (("a", "z"), ("b", "z"), ("a", "y")):
        path.write_bytes(first.encode() + b"-" * (17 << 20) + last.encode())
        seen.add(open_text(path).identity)
    assert len(seen) == 3


def test_texts_in_memory():
    assert read(["a", "b"]) == [("#1", "a"), ("#2", "b")]
    assert open_text(["a", "b"]).identity != open_text(["ab"]).identity


def test_standard_input_tells_json_lines_from_text_and_is_read_once():
    def stream(content):
        return StreamText(io.BytesIO(content), RecordReader())

    source = stream(b'\n {"text": "x"}\n{"text": "y"}')
    assert list(source.documents(1)) == [Document(1, "stdin:3", "y")]
    with pytest.raises(InputError, match="only once"):
        list(source.documents())
    assert [d.text for d in stream(b"x\n<|endoftext|>\ny").documents()] == ["x", "y"]
    assert [d.text for d in stream(b"").documents()] == [""]


@dataclass
class Rows:
    """Stands for ``datasets.IterableDataset``."""

    rows: list
    closed: list

    def skip(self, n):
        return Rows(self.rows[n:], self.closed)

    def __iter__(self):
        try:
            yield from self.rows
        finally:
            self.closed.append(True)


@pytest.fixture
def reachable(monkeypatch):
    monkeypatch.setattr("depthlaw.data.text.hub.why_not_reachable", lambda: "")


@pytest.fixture
def hub(monkeypatch, reachable):
    calls, closed = [], []

    def load_dataset(*names, **options):
        calls.append((names, options))
        if names[0] == "no/such":
            raise type("DatasetNotFoundError", (FileNotFoundError,), {})("no")
        if options["split"] != "train":
            raise ValueError("Unknown split \"test\". Should be one of ['train'].")
        return Rows([{"text": "one", "id": "<urn:1>"}, {"text": "two", "id": "<urn:2>"}], closed)

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    return types.SimpleNamespace(calls=calls, closed=closed)


@pytest.mark.parametrize("name", ["HuggingFaceFW/fineweb", "hf:HuggingFaceFW/fineweb"])
def test_data_sets_of_the_hub_are_streamed_and_keep_their_ids(hub, name):
    source = open_text(name, dataset_config="sample-10BT", revision="v1")
    assert list(source.documents(1)) == [Document(1, "<urn:2>", "two")]
    assert hub.calls == [
        (("HuggingFaceFW/fineweb", "sample-10BT"), {"split": "train", "revision": "v1", "streaming": True})
    ]
    assert "sample-10BT" in source.description
    assert source.identity != open_text(name).identity


def test_leaving_a_stream_early_closes_it(hub):
    documents = open_text("a/b").documents()
    next(documents)
    documents.close()
    assert hub.closed == [True]


def test_files_that_go_missing_on_the_way_are_a_broken_connection(hub, monkeypatch):
    class Broken(Rows):
        def __iter__(self):
            yield {"text": "one"}
            raise FileNotFoundError("https://…/000.parquet")

    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", lambda *_, **__: Broken([], []))
    with pytest.raises(ConnectionError):
        read("a/b")


def test_a_hub_out_of_reach_is_said_at_once_but_waited_for_on_the_way(monkeypatch, reachable):
    def load_dataset(*_, **__):
        raise ConnectionError("Couldn't reach 'a/b' on the Hub")

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    with pytest.raises(InputError, match=r"hf:a/b: the hub cannot be reached"):
        list(open_text("a/b").documents())
    with pytest.raises(ConnectionError):
        list(open_text("a/b").documents(5))


def test_a_hub_that_does_not_answer_is_not_asked_for_a_data_set(hub, monkeypatch):
    monkeypatch.setattr("depthlaw.data.text.hub.why_not_reachable", lambda: "HF_HUB_OFFLINE is set")
    with pytest.raises(InputError, match=r"hf:a/b: HF_HUB_OFFLINE is set") as caught:
        read("a/b")
    assert len(str(caught.value).splitlines()) == 2
    assert hub.calls == []
    assert [d.text for d in open_text("a/b").documents(1)] == ["two"]


def test_what_the_hub_does_not_have(hub):
    with pytest.raises(InputError, match="hf:no/such: not on the hub"):
        read("no/such")
    with pytest.raises(InputError, match=r"Unknown split"):
        read("a/b", split="test")


def test_without_the_package_the_way_out_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match="pip install datasets"):
        read("a/b")


@pytest.mark.data
def test_the_texts_at_hand(data_dir):
    stories = open_text(data_dir / "text" / "tinystories.txt")
    assert "split" in stories.description
    documents = list(stories.documents())
    assert len(documents) == 2317
    assert documents[1].id == "tinystories.txt:5"
    web = list(open_text(data_dir / "text" / "web_c4.jsonl").documents())
    assert len(web) == 1000
    assert json.dumps(web[0].text).startswith('"Beginners BBQ')
