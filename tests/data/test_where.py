import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError, UsageError

SOURCE = {
    "d_model": [256, 512, 512, 1024, 2048],
    "n_layers": [6, 8, 16, 12, 24],
    "loss": [4.0, 3.5, 3.25, 3.0, 2.75],
    "config.lr": [0.1, 0.2, 0.3, 0.4, 0.5],
    "eval loss": [4.1, 3.6, 3.3, 3.1, 2.8],
    "größe": [1, 2, 3, 4, 5],
    "optimizer": ["adam", "adam", "muon", "muon", "sgd"],
    "done": [True, False, True, True, True],
    "note": ["", None, "3", "x", "7"],
}

WORDS = "loss width note config.lr 3 0.5 'adam' True ( ) [ ] , < <= == != in not and or - + * ** / %"
WORDS = [*WORDS.split(), "done", "optimizer", "`eval loss`", "'", "`", "lambda", ":", "=", "\n", "é"]


def rows(condition, source=SOURCE, **options):
    return read_runs(source, where=condition, **options).lines.tolist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("loss < 3", [4]),
        ("  loss <= 3.0\n", [3, 4]),
        ("loss < 3.5 and width >= 512", [2, 3, 4]),
        ("loss < 3.5 and d_model >= 512 and n_layers != 12", [2, 4]),
        ("loss > 3.5 or depth > 20", [0, 4]),
        ("not loss > 3.5", [1, 2, 3, 4]),
        ("not (width == 512 and depth == 8)", [0, 2, 3, 4]),
        ("3 <= loss < 3.5", [2, 3]),
        ("512 <= width <= 1024 < depth * 100", [2, 3]),
        ("width in (256, 1024)", [0, 3]),
        ("width in [256]", [0]),
        ("width in (256)", [0]),
        ("width not in {256, 1024, -3}", [1, 2, 4]),
        ("12 * width**2 * depth > 1e8", [3, 4]),
        ("width / depth > 50", [1, 3, 4]),
        ("width % 512 == 0", [1, 2, 3, 4]),
        ("-loss + 1 < -2.4", [0, 1]),
        ("+loss < 3", [4]),
        ("depth - 2 <= 4", [0]),
        ("config.lr > 0.35", [3, 4]),
        ("`config.lr` > 0.35", [3, 4]),
        ("'config.lr' > 0.35", [3, 4]),
        ('"eval loss" - loss > 0.09 and `eval loss` < 3', []),
        ("`eval loss` < 3.2 and optimizer == 'muon'", [3]),
        ("größe >= 4", [3, 4]),
        ("`größe` >= 4 or `größe` == 1", [0, 3, 4]),
        ("optimizer == 'adam'", [0, 1]),
        ("'adam' != optimizer", [2, 3, 4]),
        ("optimizer in ('adam', 'sgd')", [0, 1, 4]),
        ("optimizer not in ('adam', 'sgd')", [2, 3]),
        ("done == True", [0, 2, 3, 4]),
        ("done != True", [1]),
        ("done == False", [1]),
        ("note > 2", [2, 4]),
        ("note == ''", [0, 1]),
        ("note == '3'", [2]),
        ("loss < 3 or loss / 0 > 1", [0, 1, 2, 3, 4]),
        ("9 ** 9 ** 9 ** 9 > loss", [0, 1, 2, 3, 4]),
        (f"loss < {'9' * 400}", [0, 1, 2, 3, 4]),
    ],
)
def test_conditions(condition, expected):
    if expected:
        assert rows(condition) == expected
    else:
        with pytest.raises(InputError, match="none of 5 rows satisfies"):
            rows(condition)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("loss <", "cannot be read at character"),
        ("", "cannot be read"),
        ("loss = 3", r"cannot be read at character 6 \(= 3\)"),
        ("loss < 3 && width > 2", r"cannot be read at character 11 \(& width > 2\)"),
        ("loss < 3 AND width > 2", r"cannot be read at character 10"),
        ("(loss < 3) & (width > 2)", r"uses & \| ~, which bind tighter than comparisons at character 1"),
        ("~(loss < 3)", r"uses & \| ~"),
        ("loss | 3 < 4", r"uses & \| ~"),
        ("loss", r"compares nothing at character 1 \(loss\)"),
        ("loss < 3 and width", r"compares nothing at character 14 \(width\)"),
        ("loss + 3", "compares nothing"),
        ("3 < 4", "names no column"),
        ("True", "compares nothing"),
        ("loss < True", "uses True or False as a number at character 8"),
        ("loss < 'three'", "has text where a number is needed at character 8"),
        ("loss < None", "has something that is not a number"),
        ("loss < 3j", "has something that is not a number"),
        ("loss < ...", "has something that is not a number"),
        ("loss is 3", 'uses "is"'),
        ("loss // 2 == 1", "has something that is not a number"),
        ("optimizer < 3", 'needs a number, and "optimizer" holds text at character 1'),
        ("'adam' == 'adam'", "compares text with something that is not a column"),
        ("loss + 1 == 'adam'", "compares text with something that is not a column"),
        ("width in (512, 'adam')", "has text where a number is needed"),
        ("width in ()", 'needs numbers or quoted words after "in"'),
        ("width in depth", 'needs numbers or quoted words after "in"'),
        ("__import__('os').system('true')", "calls a function"),
        ("loss < abs(width)", "has something that is not a number"),
        ("loss.__class__ < 3", 'column "loss.__class__" not found'),
        ("[x for x in (1,)] == loss", "has something that is not a number"),
        ("(lambda: 3)() < loss", "has something that is not a number"),
        ("(y := loss) < 3", "has something that is not a number"),
        ("loss[0] < 3", "has something that is not a number"),
        ("f'{loss}' < 3", "has something that is not a number"),
        ("loss if loss < 3 else width", "compares nothing"),
        ("loss < 3; import os", "cannot be read"),
        ("loss\0 < 3", "cannot be read"),
        ("(" * 900 + "loss < 3" + ")" * 900, "cannot be read"),
        ("not " * 300 + "loss < 3", "has more than 200 parts"),
        ("loss < " + "-" * 1500 + "3", "has more than 200 parts"),
        ("loss < 3 or " * 200 + "loss < 3", "is longer than 2000 characters"),
    ],
)
def test_anything_else_is_one_clear_error(condition, message):
    with pytest.raises(UsageError, match=message) as error:
        rows(condition)
    assert len(str(error.value).splitlines()) <= 3
    assert len(error.value.message) < 300


@pytest.mark.parametrize(
    ("condition", "near", "at"),
    [
        ("los < 3", "loss", 1),
        ("loss < 3 and n_layer > 3", "n_layers", 14),
        ("`größe` > 1 and optimiser == 'adam'", "optimizer", 17),
        ("`evalloss` < 3", "eval loss", 1),
        ("loss < config.l", "config.lr", 8),
    ],
)
def test_unknown_columns_get_the_nearest_name_and_their_position(condition, near, at):
    with pytest.raises(UsageError, match=f"not found .* at character {at} ") as error:
        rows(condition)
    assert error.value.hint == f"Did you mean {near}?"


def test_a_name_of_ours_that_is_also_another_column_is_unclear():
    source = {"loss": [1.0, 2.0, 3.0], "val_loss": [3.0, 2.0, 1.5]}
    with pytest.raises(UsageError, match="is unclear about loss") as error:
        rows("loss < 2", source, loss="val_loss")
    assert "`val_loss`" in error.value.hint
    assert rows("`loss` < 2", source, loss="val_loss") == [0]
    assert rows("val_loss < 2", source, loss="val_loss") == [2]


def test_weights_and_cluster_have_names_too():
    source = {"loss": [1.0, 2.0, 3.0], "w": [1, 0.5, 0.25], "model": ["a", "a", "b"]}
    assert rows("weights > .4 and cluster == 'a'", source, weights="w", cluster="model") == [0, 1]


def test_a_mask_is_not_a_condition():
    with pytest.raises(UsageError, match="where is a ndarray; a condition in text"):
        read_runs(SOURCE, where=np.ones(5, bool))


def test_history_says_what_was_kept():
    table = read_runs(SOURCE, where="loss < 3.5")
    assert table.history == ('kept 3 of 5 rows where "loss < 3.5"',)


def test_backticks_inside_text_are_text():
    source = {"loss": [1.0, 2.0], "name": ["a`b`c", "d"]}
    assert rows("name == 'a`b`c'", source) == [0]


def test_the_condition_may_remove_bad_rows():
    source = {"width": [1, 2, 3, 4], "loss": [3.0, np.nan, -1.0, 2.0]}
    assert rows("loss > 0", source) == [0, 3]
    with pytest.raises(InputError, match=r"row 1 loss NaN, row 2 loss negative \(-1\)"):
        rows("width < 4", source)
    with pytest.raises(InputError, match="row 1 loss NaN"):
        rows("loss != -1", source)  # as everywhere, NaN differs from every number


def test_numbers_are_read_as_in_the_table(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text('tokens,loss\n"2,000,000,000",3.5\n7B,3.25\n,3\n')
    assert rows("tokens > 1e9", path) == [2, 3]
    assert rows("tokens > 3e9 and loss < 4", path) == [3]


def test_columns_of_float_labels_match_as_whole_numbers():
    assert rows("seed == '1'", {"loss": [1.0, 2.0], "seed": [1.0, 2.0]}) == [0]
    assert rows("seed in ('1', '2')", {"loss": [1.0, 2.0], "seed": [1, 3]}) == [0]


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_rows_or_one_of_our_errors(condition):
    with contextlib.suppress(UsageError, InputError):
        assert 1 <= len(rows(condition)) <= 5
