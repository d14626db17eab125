"""What a probe says in words: each end rightly, and nothing of next to nothing."""

import types

import numpy as np
import pytest

from depthlaw.probe.findings import findings, sentences, statements
from depthlaw.probe.run import probe
from depthlaw.report.probe import probe_text

SETTINGS = {"batch_size": 4, "max_length": 40}


def made(theta, n_counted=1000):
    """A result with these mean angles."""
    layers = {"theta_state": np.array(theta), "theta_update": np.full(len(theta) - 1, 1.2)}
    return types.SimpleNamespace(
        layers=layers.get,
        middle=lambda: float(np.mean(theta[1:-1])),
        depth=len(theta),
        quantities=tuple(layers),
        n_counted=n_counted,
        trajectories=None,
    )


@pytest.mark.parametrize(
    ("theta", "said"),
    [
        (
            (1.56, 0.3, 0.68),
            "by 1.56 rad and the last by 0.68, more than the blocks between (0.30 on average).",
        ),
        (
            (1.3, 0.4, 0.29),
            "by 1.30 rad, more than the blocks between (0.40 on average); the last by 0.29, less ",
        ),
        (
            (0.4, 0.4, 0.8),
            "by 0.40 rad, about as much as the blocks between (0.40 on average); the last by 0.80, ",
        ),
        (
            (0.2, 0.4, 0.2),
            "by 0.20 rad and the last by 0.20, less than the blocks between (0.40 on average).",
        ),
    ],
)
def test_each_end_is_held_against_the_middle(theta, said):
    assert said in statements(made(theta))["ends"]


def test_nothing_is_said_of_next_to_nothing(lm):
    little = probe(lm, ["ab", "cd"], **SETTINGS)
    assert sentences(little) == ("Too little text for statements: 2 tokens of 100 at least.",)
    assert findings(little).alignment is None
    assert sentences(little, "ends") == ()
    assert statements(made((1, 1, 1), 99)).keys() == {"text"}
    assert statements(made((1, 1, 1, 1), 100)).keys() == {"ends", "updates"}


def test_updates_with_an_end_in_them_say_nothing_of_the_middle():
    assert np.isnan(findings(made((1, 1, 1))).middle_update)
    assert statements(made((1, 1, 1))).keys() == {"ends"}


@pytest.mark.parametrize(
    ("lens", "said"),
    [
        ("block", "through the last block, the state before the first block gives 9.00 nats a token and the "
         "model itself 3.00; half of that is gained after 2 of 5 blocks. "
         "Of the 4 blocks before the last 3 gain, block 2 most (4.00)."),
        ("direct", "directly, the state before the first block gives 9.00 nats a token and the model itself "
         "2.00; half of that is gained after 2 of 5 blocks. Of the 5 blocks 4 gain, block 2 most (4.00)."),
    ],
)  # fmt: skip
def test_where_the_prediction_is_made(lens, said):
    result = made((1, 1, 1, 1, 1))
    ce = {"block": [9.0, 8.0, 4.0, 5.0, 3.0], "direct": [9.0, 8.0, 4.0, 5.0, 3.0, 2.0]}[lens]
    known = {"lens_ce": np.array(ce), "theta_state": np.ones(5), "theta_update": np.ones(4)}
    result.layers, result.quantities, result.settings = known.get, tuple(known), {"lens": lens}
    assert statements(result)["lens"] == f"Prediction: read {said}"


def test_one_document_has_no_standard_error_and_no_interval(lm, texts):
    result = probe(lm, [" ".join(texts)[:600]], batch_size=1, max_length=600)
    said = probe_text(result)
    assert ": 1 document, " in said
    assert "nan" not in said + result._repr_html_()
    assert "—" in said


def test_one_block(make_lm, texts):
    result = probe(make_lm(depth=1), texts, tokens=True, **SETTINGS)
    assert "theta_update" not in result.tokens().column_names
    assert len(result.layers("theta_state")) == 1
    assert ": 1 block × 16" in probe_text(result)
