"""What reading the published and made tables must say about each of them."""

import numpy as np
import pytest

from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError

pytestmark = pytest.mark.data

LOSS_UNITS = {"loss-looks-like-bits", "loss-looks-like-perplexity", "tokens-in-billions"}


def codes(table):
    return {notice.code for notice in table.notices}


@pytest.fixture
def runs(data_dir):
    return data_dir / "runs"


@pytest.fixture
def made(data_dir):
    return data_dir / "synthetic"


def test_chinchilla(runs):
    table = read_runs(runs / "chinchilla.csv")
    assert table.n_runs == 245
    assert {use.name: use.source for use in table.mapping} == {
        "width": "d_model",
        "depth": "n_layers",
        "tokens": "num_tokens",
        "params": "model_size",
        "flops": "FLOP",
        "loss": "loss",
    }
    assert table.clusters is None
    assert table.lines.tolist() == list(range(2, 247))
    quantised = next(notice for notice in table.notices if notice.code == "quantised-loss")
    assert "245 rows hold only 99 distinct losses" in quantised.message


def test_chinchilla_without_the_highest_losses(runs):
    table = read_runs(runs / "chinchilla.csv", exclude_highest=40)
    assert table.n_runs == 203
    assert table["loss"].max() < 2.99868
    assert table.history == (
        "excluded the 40 highest losses (>= 2.99868; 3 rows tie at the cut): 203 of 245 rows kept",
    )
    # the notices are about the rows that are left
    quantised = next(notice for notice in table.notices if notice.code == "quantised-loss")
    assert "203 rows" in quantised.message


def test_gemstones_checkpoints_are_recognised_as_runs(runs):
    table = read_runs(runs / "gemstones_hot.csv")
    assert table.cluster_source == "run_name (recognised)"
    assert len(set(table.clusters)) == 22
    assert "clusters-recognised" in codes(table)
    disagree = next(notice for notice in table.notices if notice.code == "params-disagree")
    assert len(disagree.rows) == 220


def test_run_column_of_s16_is_the_cluster(made):
    table = read_runs(made / "s16_checkpoints_run_noise.csv")
    assert table.cluster_source == "run (recognised)"
    assert len(set(table.clusters)) == 25


def test_gadre_names_the_other_params_column(runs):
    table = read_runs(runs / "gadre_rpj_c4val.csv")
    choice = next(notice for notice in table.notices if notice.code == "column-choice")
    assert '"params_no_embed"' in choice.message
    assert table["params"][0] == 411616256
    assert table.clusters is None  # every row has a name of its own


def test_olmo_rows_without_params_only_matter_when_params_are_used(runs):
    table = read_runs(runs / "olmo_ladder_c4.csv")
    assert table.n_runs == 30
    with pytest.raises(InputError, match=r"6 of 30 rows have no usable params"):
        table.require("params")
    with pytest.raises(InputError, match=r"6 of 30 rows cannot be used"):
        read_runs(runs / "olmo_ladder_c4.csv", use=["params", "tokens", "loss"])
    reruns = read_runs(runs / "olmo_ladder_c4.csv", where="rerun == True")
    assert reruns.n_runs == 5


@pytest.mark.parametrize("name", ["chinchilla", "gemstones_hot", "gadre_rpj_c4val", "olmo_ladder_c4"])
def test_no_alarm_about_units_on_real_tables(runs, name):
    assert not codes(read_runs(runs / f"{name}.csv")) & LOSS_UNITS


@pytest.mark.parametrize(
    "name", ["s01_exact", "s02_noise_0p5pct", "s03_collinear_w_eq_64l", "s10_outliers_5pct"]
)
def test_no_notice_on_plain_made_tables(made, name):
    assert read_runs(made / f"{name}.csv").notices == ()


def test_s06_bad_rows_are_named_by_line(made):
    with pytest.raises(InputError) as error:
        read_runs(made / "s06_bad_rows.csv")
    message = str(error.value)
    assert len(message.splitlines()) == 3
    assert "6 of 100 rows" in message
    assert (
        "line 5 loss missing, line 9 loss infinite, line 13 loss negative (-1), line 15 loss zero, "
        "line 19 tokens zero, line 21 depth missing"
    ) in message
    assert "--drop-bad" in message


def test_s06_bad_rows_are_dropped_and_counted(made):
    table = read_runs(made / "s06_bad_rows.csv", drop_bad=True)
    assert table.n_runs == 94
    assert table.history == (
        "dropped 6 bad rows (loss: 1 missing, 1 infinite, 1 negative, 1 zero; tokens: 1 zero; "
        "depth: 1 missing)",
    )
    dropped = next(notice for notice in table.notices if notice.code == "bad-rows-dropped")
    assert dropped.rows == (5, 9, 13, 15, 19, 21)


def test_s07_copies(made):
    table = read_runs(made / "s07_dup_x4.csv")
    (notice,) = table.notices
    assert notice.code == "duplicate-rows"
    assert len(notice.rows) == 300
    assert notice.message.startswith("300 of 400 rows are exact copies")
    assert "errors shrink as if they were independent" in notice.message
    single = read_runs(made / "s07_dup_x4.csv", drop_duplicates=True)
    assert single.notices == ()
    original = read_runs(made / "s02_noise_0p5pct.csv")
    assert np.array_equal(np.sort(single["loss"]), np.sort(original["loss"]))


def test_s08_tokens_in_billions(made):
    assert codes(read_runs(made / "s08_tokens_in_billions.csv")) == {"tokens-in-billions"}


def test_s09_loss_in_bits(made):
    (notice,) = read_runs(made / "s09_loss_in_bits.csv").notices
    assert notice.code == "loss-looks-like-bits"
    assert "may be in bits" in notice.message


def test_a_folder_reads_as_the_union_of_its_files(made):
    table = read_runs(made, drop_bad=True)
    assert table.files is not None
    assert table.place(0) == "s01_exact.csv line 2"
    assert "columns-differ" in codes(table)  # only one of them has a column "run"
