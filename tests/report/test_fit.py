"""How a fit reads: nothing is printed that is not known, and units and offsets are seen."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from depthlaw.data.jsonio import json_text
from depthlaw.data.runs import read_runs
from depthlaw.errors import Notice
from depthlaw.laws.against import PointCheck
from depthlaw.laws.fit import Fit, fit
from depthlaw.laws.result import Estimate, Status
from depthlaw.report.fit import fit_payload, fit_text, law_text, table_text
from depthlaw.reproduce.made import made_runs


@pytest.fixture(scope="module")
def law() -> Fit:
    return fit(made_runs(), starts=64)


def unknown(law: Fit, *names: str) -> Fit:
    def blank(one: Estimate) -> Estimate:
        if one.name not in names:
            return one
        return Estimate(one.name, None, None, None, Status.NOT_IDENTIFIED, "one depth; add others")

    return replace(law, params=tuple(map(blank, law.params)))


def test_the_law_as_a_formula(law: Fit) -> None:
    text = law_text(law)
    found = re.fullmatch(r"(\S+) width\^-(\S+) \+ (\S+) depth\^-(\S+) \+ (\S+) tokens\^-(\S+) \+ (\S+)", text)
    assert found is not None
    assert [float(x) for x in found.groups()] == pytest.approx([p.value for p in law.params], rel=5e-3)
    shifted = replace(law, form=replace(law.form, offsets={"depth": 2.0}))
    assert " (depth - 2)^-" in law_text(shifted)
    assert " + floor" not in law_text(replace(law, form=replace(law.form, floor=False)))


def test_no_number_stands_for_what_is_not_known(law: Fit) -> None:
    text = law_text(unknown(law, "c_depth", "alpha_depth", "floor"))
    assert "c_depth depth^-alpha_depth" in text
    assert text.endswith(" + floor")
    rows = fit_text(unknown(law, "alpha_depth")).splitlines()
    (row,) = [line for line in rows if line.startswith("alpha_depth ")]
    assert row.split() == ["alpha_depth", "—", "—", "—", "not-identified"]
    assert "c_depth depth^-alpha_depth" in rows[0]  # half a term is no term


def test_a_page_has_all_its_parts_in_order(law: Fit) -> None:
    check = PointCheck("a point", 2e-5, 1e-5, 3.0, 3.84, 14.07)
    page = fit_text(replace(law, notices=(Notice("x", "mind this", ()),)), check)
    marks = ["loss = ", "alpha_width", "mse of ln(loss)", "starts agree", "a point: mse", "note: mind this"]
    places = [page.index(mark) for mark in [*marks, "depth exponent "]]
    assert places == sorted(places)
    assert page.endswith(".\n")
    assert not [line for line in page.splitlines() if line != line.rstrip()]


def test_the_interval_says_its_level(law: Fit) -> None:
    assert "95% interval" in fit_text(law)
    assert "90% interval" in fit_text(replace(law, level=0.9))


def test_the_payload_survives_json(law: Fit) -> None:
    odd = replace(law, certificate=replace(law.certificate, condition=np.inf))
    text = json_text(fit_payload(unknown(odd, "alpha_depth"), PointCheck("p", 1.0, 1.0, 0.0, 1.0, 1.0)))
    assert "Infinity" not in text
    assert "NaN" not in text
    assert '"admissible": true' in text
    assert '"condition": null' in text


def test_how_a_table_was_understood() -> None:
    columns = made_runs()
    text = table_text(read_runs({**columns, "w": np.ones(60)}, weights="w", where="loss < 4"))
    lines = text.splitlines()
    assert lines[0].startswith("dict: ")
    assert "  width    from d_model (recognised, " in text
    assert "  weights  from w (given, " in text
    assert lines[-1].startswith("  kept ")
    assert 'where "loss < 4"' in lines[-1]
