"""Saved fits come back to the last bit, and files that are none are refused in words."""

from __future__ import annotations

import copy
import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depthlaw.errors import InputError, Notice
from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.result import Estimate, Status
from depthlaw.laws.saved import fit_document, from_document
from depthlaw.numerics.terms import Array
from depthlaw.report.fit import fit_text

Made = Callable[..., dict[str, Array]]


def bits(value: Any) -> Any:
    """Everything a value holds, floats as their bits, so that NaN equals NaN and 0 is not -0."""
    if is_dataclass(value):
        return type(value).__name__, {f.name: bits(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(bits(item) for item in value)
    return value


def roundtrip(law: Fit, folder: Path) -> Fit:
    law.save(folder / "fit.json")
    return Fit.load(folder / "fit.json")


@given(
    seed=st.integers(0, 10**6),
    noise=st.floats(0, 0.1),
    options=st.sampled_from(
        [
            {},
            {"floor": False},
            {"depth_offset": 2.0},
            {"fix": {"alpha_depth": 1.0}},
            {"tie": ("alpha_width=alpha_depth",)},
        ]
    ),
    depths=st.sampled_from([(4, 8, 16, 32), (8, 24), (3, 5, 9)]),
)
@settings(max_examples=6, deadline=None)
def test_fits_of_random_tables_come_back_to_the_last_bit(
    made_table: Made,
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    noise: float,
    options: dict[str, Any],
    depths: tuple[int, ...],
) -> None:
    table = made_table(depths=depths, noise=noise, seed=seed)
    law = fit({k: table[k] for k in ("width", "depth", "loss")}, starts=64, **options)
    back = roundtrip(law, tmp_path_factory.mktemp("saved"))
    assert bits(back) == bits(law)
    assert back.predict().tobytes() == law.predict().tobytes()


ANY_FLOAT = st.floats().map(lambda value: math.nan if math.isnan(value) else value)


@given(
    values=st.lists(ANY_FLOAT, min_size=7, max_size=7),
    ends=st.tuples(ANY_FLOAT, ANY_FLOAT),
    condition=ANY_FLOAT,
    reason=st.text(max_size=20),
    rows=st.lists(st.integers(0, 10**9), max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_any_number_and_any_text_survive(
    made_fit: Fit,
    values: list[float],
    ends: tuple[float, float],
    condition: float,
    reason: str,
    rows: list[int],
) -> None:
    odd = replace(
        made_fit,
        point=np.array(values),
        covariance=np.outer(np.ones(7), values),
        params=(*made_fit.params[:-1], Estimate("floor", values[0], values[1], ends, Status.OK, reason)),
        quality=replace(made_fit.quality, mse=values[2], aicc=values[3]),
        certificate=replace(made_fit.certificate, condition=condition),
        notices=(Notice("odd", reason, tuple(rows)),),
        history=(reason,),
    )
    assert bits(from_document(json.loads(fit_document(odd)))) == bits(odd)


def test_nan_of_every_sign_is_nan_and_infinities_keep_theirs(made_fit: Fit) -> None:
    odd = replace(made_fit, point=np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7e308, 0.1 + 0.2]))
    text = fit_document(odd)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert from_document(json.loads(text)).point.tolist()[1:] == odd.point.tolist()[1:]


def test_the_same_fit_is_the_same_file(made_fit: Fit, tmp_path: Path) -> None:
    made_fit.save(tmp_path / "one.json")
    Fit.load(tmp_path / "one.json").save(tmp_path / "other.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()


def test_a_run_folder_stands_for_its_fit(made_fit: Fit, tmp_path: Path) -> None:
    made_fit.save(tmp_path / "fit.json")
    assert bits(Fit.load(tmp_path)) == bits(made_fit)


def test_a_file_is_whole_or_not_there(made_fit: Fit, tmp_path: Path) -> None:
    made_fit.save(tmp_path / "fit.json")
    assert [path.name for path in tmp_path.iterdir()] == ["fit.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a saved fit"),
        (b"{", "is not a saved fit"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"[]", "schema is not depthlaw.fit/1"),
        (b'{"schema": "depthlaw.fit/9"}', "schema is not depthlaw.fit/1"),
        (b'{"schema": "depthlaw.fit/1"}', "damaged fit"),
        (b"width,depth\n1,2\n", "is not a saved fit"),
    ],
)
def test_what_is_no_fit(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as error:
        Fit.load(path)
    assert str(path) in error.value.message
    assert len(str(error.value).splitlines()) <= 3


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.*: there is no such file"):
        Fit.load(tmp_path / "nowhere.json")
    with pytest.raises(InputError, match=r"fit\.json: there is no such file"):
        Fit.load(tmp_path)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to every key of the document, and to the first item of every list."""
    if isinstance(document, dict):
        for key in document:
            yield (*path, key)
            yield from places(document[key], (*path, key))
    elif isinstance(document, list) and document:
        yield (*path, 0)
        yield from places(document[0], (*path, 0))


def damaged(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Copy of the document with ``value`` at ``path``; ``...`` removes it."""
    changed = copy.deepcopy(document)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


@pytest.mark.parametrize("value", [..., None, 3, "x", [], {}, [1, "x"], {"a": 1}])
def test_damage_is_an_input_error_or_harmless(made_fit: Fit, tmp_path: Path, value: Any) -> None:
    """Wherever a file is damaged, loading it is refused or gives a whole fit, and never crashes."""
    document, path = json.loads(fit_document(made_fit)), tmp_path / "fit.json"
    everywhere = [place for place in places(document) if place != ("schema",)]
    assert len(everywhere) > 50
    refused = 0
    for place in everywhere:
        path.write_text(json.dumps(damaged(document, place, value)))
        try:
            law = Fit.load(path)
        except InputError:
            refused += 1
        else:
            assert law.predict().shape == (48,), place
            fit_text(law)
            bits(roundtrip(law, tmp_path))
            assert value is not ... or place[0] in ("data", "profiles") or place[-1] == "reason", place
    assert refused > len(everywhere) / 2


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("quality", "mse"), "x"),
        (("certificate", "converged"), None),
        (("certificate", "starts"), [1]),
        (("params", 0, "value"), "12"),
        (("params", 0, "status"), "fine"),
        (("params", 0, "interval"), [1.0]),
        (("form", "floor"), 3),
        (("form", "offsets"), []),
        (("form", "fixed"), {"alpha_bredth": 1.0}),
        (("data", "width", 0), None),
        (("data", "loss", 0), -1.0),
        (("profiles", 0, "zeta", 0), ...),
        (("level",), "0.95"),
        (("source",), None),
    ],
)
def test_a_value_of_another_kind_is_damage(
    made_fit: Fit, tmp_path: Path, place: tuple[Any, ...], value: Any
) -> None:
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(damaged(json.loads(fit_document(made_fit)), place, value)))
    with pytest.raises(InputError, match="is a damaged fit: ") as error:
        Fit.load(path)
    assert len(str(error.value).splitlines()) == 1


def test_a_law_edited_by_hand_is_not_the_law_of_its_data(made_fit: Fit, tmp_path: Path) -> None:
    path, document = tmp_path / "fit.json", json.loads(fit_document(made_fit))
    for place, said in (
        (("params", 3, "value"), "alpha_depth is 2 in params and 1.2"),
        (("point", 3), "in params and 2 in point"),
        (("data", "loss", 0), "misses the data by an mse of"),
    ):
        path.write_text(json.dumps(damaged(document, place, 2.0)))
        with pytest.raises(InputError, match=f"is a damaged fit: .*{said}"):
            Fit.load(path)


def test_parts_that_do_not_suit_each_other(made_fit: Fit, tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    shorter = {name: values[:-1] if name == "loss" else values for name, values in made_fit.data.items()}
    for odd, said in (
        (replace(made_fit, point=made_fit.point[:-1]), "not of the form"),
        (replace(made_fit, covariance=made_fit.covariance[:-1]), "not of the form"),
        (replace(made_fit, params=made_fit.params[:-1]), "parameters are missing"),
        (replace(made_fit, data=shorter), "differ in length"),
        (replace(made_fit, data={"loss": made_fit.data["loss"]}), "columns of the data are missing"),
    ):
        odd.save(path)
        with pytest.raises(InputError, match=said):
            Fit.load(path)
