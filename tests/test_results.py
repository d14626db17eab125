"""The Python API: every name is there, and every result has a table and shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import depthlaw
from depthlaw.errors import ConfigError, UsageError
from depthlaw.laws.fit import Fit
from depthlaw.reproduce.made import made_runs

LAB = {
    "steps": 4,
    "batch": 8,
    "test_every": 0,
    "test_batches": 2,
    "log_every": 2,
    "width": 4,
    "hidden": 8,
    "threads": 1,
    "engine": "torch",
    "teacher": {"depth": 2},
    "student": {"depths": (3, 4, 6)},
}
TEXTS = ["the cat sat on the mat", "and the dog lay down to sleep", "a bird sang"]


@pytest.fixture(scope="module")
def law() -> Fit:
    return depthlaw.fit(made_runs(), starts=64)


@pytest.fixture(scope="module")
def lm() -> Any:
    """A tiny model with a tokenizer of letters."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from depthlaw.models import adopt

    letters = {letter: place for place, letter in enumerate("\0 abcdefghijklmnopqrstuvwxyz")}
    tokenizer = Tokenizer(models.WordLevel(letters, unk_token="\0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    torch.manual_seed(0)
    sizes = {"vocab_size": len(letters), "hidden_size": 16, "intermediate_size": 32}
    config = LlamaConfig(**sizes, num_hidden_layers=4, num_attention_heads=2, eos_token_id=0)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="\0")
    return adopt(LlamaForCausalLM(config).float(), fast, name="tiny")


def lab() -> Any:
    return depthlaw.train_lab("mse", **LAB)


def exponents() -> Any:
    from depthlaw.lab.exponents import exponents

    return exponents(lab().test_batches, resamples=20)


def fingerprints() -> Any:
    from depthlaw.lab.fingerprints import fingerprints

    result = lab()
    return fingerprints(result.config, result.networks)


def family() -> Any:
    from depthlaw.probe.family import family

    rng = np.random.default_rng(0)
    return family({f"of {depth} blocks": rng.uniform(0.9, 1.1, depth) / depth for depth in (4, 8, 16, 24)})


RESULTS: dict[str, Callable[[Fit, Any], Any]] = {
    "read_runs": lambda law, lm: depthlaw.read_runs(made_runs()),
    "fit": lambda law, lm: law,
    "compare": lambda law, lm: depthlaw.compare(made_runs(), starts=64, splits=2),
    "sensitivity": lambda law, lm: depthlaw.sensitivity(made_runs(), starts=64, vary=("offset",)),
    "predict_at": lambda law, lm: depthlaw.predict_at(law, width=[512, 4096], depth=24, tokens=1e10),
    "reach": lambda law, lm: depthlaw.reach(law, 2.6, width=2048, depth=24),
    "plan": lambda law, lm: depthlaw.plan(law, params=1e9, resamples=50),
    "design": lambda law, lm: depthlaw.design(law, budget=1e20, resamples=8),
    "train_lab": lambda law, lm: lab(),
    "lab exponents": lambda law, lm: exponents(),
    "lab fingerprints": lambda law, lm: fingerprints(),
    "probe": lambda law, lm: depthlaw.probe(lm, TEXTS),
    "family": lambda law, lm: family(),
    "causal_trace": lambda law, lm: depthlaw.causal_trace(lm, "the cat sat", "cat", "sat", samples=2),
    "ablate": lambda law, lm: depthlaw.ablate(lm, TEXTS, plan=("1-",)),
}
"""Every call that gives a result; `load_model` and `run_plan` give a model and logits."""


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_one_line_at_a_prompt_and_can_be_compared(name: str, law: Fit, lm: Any) -> None:
    result = RESULTS[name](law, lm)
    shown = repr(result)
    assert "\n" not in shown
    assert len(shown) < 2000 if isinstance(result, tuple) else len(shown) <= 330
    assert "array(" not in shown
    assert result == result
    assert hash(result) == hash(result)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_table_and_shows_itself(name: str, law: Fit, lm: Any) -> None:
    result = RESULTS[name](law, lm)
    table = result.to_table()
    assert isinstance(table, pa.Table)
    assert len(table) > 0
    page = result._repr_html_()
    assert page.count("<tr>") > 1
    assert page.count("<table") == page.count("</table>")
    assert "object at 0x" not in page


def test_every_name_is_loaded_on_first_use_and_listed() -> None:
    for name in depthlaw.__all__:
        assert getattr(depthlaw, name) is not None
        assert name in dir(depthlaw)
    calls = {
        "read_runs",
        "fit",
        "compare",
        "plan",
        "load_model",
        "probe",
        "train_lab",
        "causal_trace",
        "run_plan",
    }
    assert calls <= set(depthlaw.__all__)
    assert all(callable(getattr(depthlaw, name)) for name in calls)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        depthlaw.nope  # noqa: B018


def test_what_is_no_law_or_no_number_is_refused_in_words(law: Fit) -> None:
    for verb, call in (
        ("plan", lambda: depthlaw.plan("runs.csv", params=7e9)),
        ("design", lambda: depthlaw.design(made_runs(), budget=1e20)),
        ("predict_at", lambda: depthlaw.predict_at(depthlaw.read_runs(made_runs()), width=1)),
        ("reach", lambda: depthlaw.reach(made_runs(), 2.5)),
    ):
        with pytest.raises(UsageError, match=rf"{verb} takes a fitted law.*\n.*{verb}\(fit\(runs\)"):
            call()
    with pytest.raises(UsageError, match=r"loss is a number or an array of numbers, not '2\.5'"):
        depthlaw.reach(law, "2.5")
    with pytest.raises(UsageError, match="has no by"):
        depthlaw.reach(law, loss=2.5, by="depth")
    with pytest.raises(UsageError, match=r'argument of read_runs "widht" not found.*\nDid you mean width\?'):
        depthlaw.read_runs(made_runs(), widht="d_model")


TAKERS: dict[str, Callable[..., Any]] = {
    "fit": lambda law, lm, **s: depthlaw.fit(made_runs(), **s),
    "compare": lambda law, lm, **s: depthlaw.compare(made_runs(), **s),
    "sensitivity": lambda law, lm, **s: depthlaw.sensitivity(made_runs(), **s),
    "plan": lambda law, lm, **s: depthlaw.plan(law, **s),
    "design": lambda law, lm, **s: depthlaw.design(law, **s),
    "train_lab": lambda law, lm, **s: depthlaw.train_lab(**s),
    "probe": lambda law, lm, **s: depthlaw.probe(lm, TEXTS, **s),
    "causal_trace": lambda law, lm, **s: depthlaw.causal_trace(lm, "the cat sat", "cat", "sat", **s),
    "ablate": lambda law, lm, **s: depthlaw.ablate(lm, TEXTS, **s),
}


@pytest.mark.parametrize("name", TAKERS)
def test_settings_by_name_are_as_strict_as_a_file(name: str, law: Fit, lm: Any) -> None:
    with pytest.raises(ConfigError, match="seeed: unknown key"):
        TAKERS[name](law, lm, seeed=1)
    wrong = {"dtype": 3} if name == "probe" else {"seed": "one"}
    with pytest.raises(ConfigError, match="expected"):
        TAKERS[name](law, lm, **wrong)
    with pytest.raises(UsageError, match="is expected as config, not int"):
        TAKERS[name](law, lm, config=3)


def test_a_law_predicts_by_name_and_says_what_it_needs(law: Fit) -> None:
    by_name = law.predict(width=2048, depth=[8, 16], tokens=1e10)
    assert by_name.tolist() == law.predict({"width": 2048, "depth": [8, 16], "tokens": 1e10}).tolist()
    assert by_name.shape == (2,)
    for wrong, said in (
        ({"width": 2048, "dept": 8, "tokens": 1e10}, "dept.*\nDid you mean depth?"),
        ({"width": 2048, "depth": 8}, "needs a value for tokens"),
        ({"width": -2048, "depth": 8, "tokens": 1e10}, "width must be positive, not -2048"),
        ({"width": np.nan, "depth": 8, "tokens": 1e10}, "width must be positive, not nan"),
        ({"width": "wide", "depth": 8, "tokens": 1e10}, "scales are numbers or arrays of one shape"),
        ({"width": [1, 2], "depth": [1, 2, 3], "tokens": 1e10}, "scales are numbers or arrays of one shape"),
    ):
        with pytest.raises(UsageError, match=said.replace("?", r"\?")):
            law.predict(**wrong)
    with pytest.raises(UsageError, match="by name, not as int"):
        law.predict(2048)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r'"dpeth" not found.*\nDid you mean depth'):
        law.predict({"width": 2048, "dpeth": 8, "tokens": 1e10})
    with pytest.raises(UsageError, match=r"alpha_depht.*\nDid you mean alpha_depth"):
        law["alpha_depht"]
    with pytest.raises(UsageError, match='"heads" not found'):
        law.predict({"width": 2048, "depth": 8, "tokens": 1e10, "heads": 3})
    with pytest.raises(UsageError, match="needs a value for depth and tokens"):
        law.predict({"width": 2048})
    assert law.predict(depthlaw.read_runs(made_runs()).columns).tolist() == law.predict().tolist()
    with pytest.raises(UsageError, match="has no params"):
        depthlaw.predict_at(law, width=2048, depth=8, tokens=1e10, params=1e9)
