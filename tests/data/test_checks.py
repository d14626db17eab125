import numpy as np
import pytest

from depthlaw.data.checks import find_copies
from depthlaw.data.runs import read_runs

GOOD = {
    "width": [512, 512, 1024],
    "depth": [8, 16, 8],
    "tokens": [2e9, 1e10, 5e10],
    "loss": [3.5, 3.25, 2.875],
}


def codes(table):
    return {notice.code for notice in table.notices}


def notice(table, code):
    return next(n for n in table.notices if n.code == code)


def test_copies_are_rows_equal_in_all_we_read():
    source = {"width": [1, 1, 1, 1], "loss": [3.0, 3.0, 3.0, 2.0], "other": [1, 2, 3, 4], "w": [1, 1, 2, 1]}
    assert notice(read_runs(source), "duplicate-rows").rows == (1, 2)
    assert notice(read_runs(source, weights="w"), "duplicate-rows").rows == (1,)
    clustered = read_runs({**source, "run": ["a", "b", "b", "c"]}, cluster="run")
    assert "they share their clusters" in notice(clustered, "duplicate-rows").message
    assert clustered.drop_duplicates().lines.tolist() == [0, 1, 3]


def test_unchecked_gaps_count_as_equal():
    copies = find_copies([np.array([1.0, np.nan, np.nan]), np.array([2.0, 3.0, 3.0])], 3)
    assert copies.tolist() == [False, False, True]


def test_rounded_losses():
    rng = np.random.default_rng(0)
    loss = rng.uniform(2, 4, 100)
    width = np.arange(1, 101)
    assert "quantised-loss" not in codes(read_runs({"width": width, "loss": loss}))
    rounded = read_runs({"width": width, "loss": loss.round(1)})
    assert "100 rows hold only 21 distinct losses" in notice(rounded, "quantised-loss").message


@pytest.mark.parametrize(
    ("loss", "code"),
    [
        ([3.0, 3.5, 4.5], None),
        ([9.0, 8.0, 10.9], "loss-looks-like-perplexity"),
        ([4.0, 13.0, 60.0], "loss-looks-like-perplexity"),
        ([3.0] * 30 + [1e4], None),  # one run diverged
        ([1e-3, 2e-3, 0.5], None),
    ],
)
def test_perplexity_by_its_size(loss, code):
    found = codes(read_runs({"width": np.arange(1, len(loss) + 1), "loss": loss}))
    assert found - {"quantised-loss"} == ({code} if code else set())


def test_units_by_the_header_are_said():
    table = read_runs({"val_ppl": [9.0, 3.0]}, loss="val_ppl")
    assert "perplexities by the name" in notice(table, "loss-looks-like-perplexity").message
    table = read_runs({"val_bpb": [0.9, 0.8]})
    assert "bits per byte by the name" in notice(table, "loss-looks-like-bits").message


def grid(tokens=1.0, loss=1.0):
    """Runs that follow the published fit in nats exactly."""
    width, depth, seen = (a.ravel() for a in np.meshgrid([512, 1024, 2048], [8, 16], [1e9, 1e10]))
    nats = 1.69 + 406.4 / (12 * width**2.0 * depth) ** 0.34 + 410.7 / seen**0.28
    return {"width": width, "depth": depth, "tokens": seen * tokens, "loss": nats * loss}


def test_scales_that_cannot_be_what_they_are_taken_for():
    runs = grid()
    logs = read_runs({**runs, "tokens": np.log10(np.array(runs["tokens"])) + 0.48})
    assert codes(logs) == {"looks-like-logarithms"}
    assert "exponents and floor do not change" not in notice(logs, "looks-like-logarithms").message
    german = read_runs({**runs, "width": np.array(runs["width"]) / 1000})
    assert (
        "12 of 12 values of width are not whole, such as 0.512" in notice(german, "scale-not-whole").message
    )
    assert "scale-not-whole" in codes(read_runs({**runs, "depth": np.full(12, 6.37)}))
    swapped = {**runs, "width": runs["depth"], "depth": runs["width"]}
    assert "the two columns look swapped" in notice(read_runs(swapped), "width-depth-swapped").message
    single = read_runs({"D": [512, 1024], "loss": [3.0, 2.5]})
    assert 'if "D" is the width (d_model), say --width D' in notice(single, "tokens-in-billions").message
    params = 12 * np.array(runs["width"]) ** 2.0 * np.array(runs["depth"])
    tiny = read_runs({**runs, "params": params / 1e6})
    assert codes(tiny) == {"params-in-billions", "params-disagree"}
    assert "1e-06 times 12 width² depth: they are in another unit" in notice(tiny, "params-disagree").message


def test_bits_by_comparison_with_published_fits():
    assert codes(read_runs(grid())) == set()
    assert codes(read_runs(grid(loss=1.2))) == set()
    table = read_runs(grid(loss=1 / np.log(2)))
    assert codes(table) == {"loss-looks-like-bits"}
    assert "about 1.44 times" in notice(table, "loss-looks-like-bits").message
    assert codes(read_runs(grid(loss=0.3))) == set()
    # what the header says goes before what the numbers look like
    named = {**grid(loss=1 / np.log(2))}
    named["loss_bits"] = named.pop("loss")
    assert "by the name" in notice(read_runs(named, loss="loss_bits"), "loss-looks-like-bits").message


def test_tokens_in_billions():
    assert codes(read_runs(grid(tokens=1e-9))) == {"tokens-in-billions"}


def test_params_that_disagree():
    source = {**GOOD, "params": [12 * 512**2 * 8 * f for f in (1.0, 2.6, 5.2)]}
    said = notice(read_runs(source), "params-disagree")
    assert said.rows == (1, 2)
    assert "2 of 3 rows (1 to 1.3 times it)" in said.message
