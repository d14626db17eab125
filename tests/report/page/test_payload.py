"""The JSON of every kind of folder fits its schema, and the schema would notice if it did not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from depthlaw.data.jsonio import json_text
from depthlaw.report.page.claims import VERDICTS
from depthlaw.report.page.gather import gather
from depthlaw.report.page.markdown import report_markdown
from depthlaw.report.page.payload import report_payload, schema

from .conftest import outcome_of

Keep = Callable[..., Path]


def checker() -> Draft202012Validator:
    Draft202012Validator.check_schema(schema())
    return Draft202012Validator(schema())


@pytest.fixture
def mixed(tmp_path: Path, keep: Keep, run_of: Keep) -> Path:
    """Whole, skipped, failed, damaged and unfinished experiments, and runs."""
    keep(tmp_path, outcome_of("fig2f"))
    keep(tmp_path, outcome_of("fig4a", comparisons=(), figures={}, tables={}, skipped="no torch"))
    (keep(tmp_path, outcome_of("fig5")) / "outcome.json").unlink()
    run_of(tmp_path / "mine" / "a")
    (run_of(tmp_path / "mine" / "b") / "manifest.json").write_bytes(b"{")
    manifest = keep(tmp_path, outcome_of("theory")) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"done"', '"running"'))
    return tmp_path


def test_every_kind_of_folder_fits_the_schema(mixed: Path) -> None:
    for folder in (
        mixed,
        mixed / "fig2f",
        mixed / "fig4a",
        mixed / "fig5",
        mixed / "mine",
        mixed / "mine" / "a",
    ):
        document = json.loads(json_text(report_payload(gather(folder))))
        problems = [f"{list(p.absolute_path)}: {p.message}" for p in checker().iter_errors(document)]
        assert problems == [], folder.name


def spoilt(document: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    again = copy.deepcopy(document)
    at: Any = again
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return again


def test_the_schema_notices(mixed: Path) -> None:
    document = json.loads(json_text(report_payload(gather(mixed))))
    for path, value in (
        (("schema",), 2),
        (("extra",), 1),
        (("counts", "pass"), -1),
        (("claims", 0, "verdict"), "good"),
        (("claims", 0, "ours"), "1.3"),
        (("claims", 0, "extra"), None),
        (("runs", 0, "run", "status"), "dead"),
        (("runs", 0, "figures", 0, "caption"), None),
        (("experiments", 0, "tables", 0, "units"), {"x": 1}),
        (("warnings", 0, "kind"), "whim"),
    ):
        assert not checker().is_valid(spoilt(document, path, value)), path
    for key in document:
        assert not checker().is_valid({k: v for k, v in document.items() if k != key}), key


def test_the_schema_knows_all_verdicts() -> None:
    assert schema()["$defs"]["verdict"]["enum"] == list(VERDICTS)
    assert schema()["properties"]["counts"]["required"] == list(VERDICTS)


def test_the_numbers_are_those_of_the_outcome(mixed: Path) -> None:
    payload = report_payload(gather(mixed))
    first = payload["claims"][0]
    assert (first["experiment"], first["quantity"]) == ("fig2f", "alpha_depth")
    assert (first["published"], first["published_error"], first["ours"], first["error"]) == (
        1.2,
        0.3,
        1.325,
        0.287,
    )
    assert (first["difference_unit"], first["verdict"]) == ("s.e.", "pass")
    assert first["difference"] == pytest.approx(0.125 / 0.3)
    assert payload["corrections"][0]["corrected"] == 3.0e-5
    experiment = payload["experiments"][0]
    assert experiment["figures"] == [
        {
            "name": "fig2f",
            "file": "fig2f/fig2f.svg",
            "caption": "What is left of the loss.",
            "data": ["curve.parquet"],
        }
    ]
    tables = {table["name"]: table for table in experiment["tables"]}
    assert tables["curve.parquet"]["units"] == {"depth": "blocks", "term": "nats per token"}
    assert tables["curve.parquet"]["withheld"] is None
    assert "licence" in tables["secret.parquet"]["withheld"]
    assert {c["experiment"]: c["verdict"] for c in payload["claims"][1:4]} == {
        "fig4a": "skipped",
        "fig5": "failed",
        "theory": "not run",
    }


def test_the_claim_table_as_markdown(mixed: Path) -> None:
    lines = report_markdown(gather(mixed)).splitlines()
    assert lines[1] == "# Inverse depth scaling, side by side"
    (row,) = [line for line in lines if line.startswith("| fig2f") and "α_ℓ" in line]
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "fig2f", "depth exponent α_ℓ", "1.20 ± 0.30", "1.32 ± 0.29", "+0.42 s.e.", "pass", "",
    ]  # fmt: skip
    assert any("skipped" in line and "no torch" in line for line in lines)
    assert any("It stops early." in line and "0.00003000 nats²" in line for line in lines)
    tables = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in tables if line.startswith(("| fig2f  ", "| theory"))} <= {5, 8}
    assert lines[-1].startswith("| fit")


def test_markdown_holds_no_html_of_others(tmp_path: Path, keep: Keep) -> None:
    evil = "<script>alert(1)</script> | x\n# y"
    keep(tmp_path, outcome_of("fig4a", comparisons=(), skipped=evil, notices=(evil,)))
    text = report_markdown(gather(tmp_path))
    assert "<script" not in text.replace("\\<script", "")
    assert "\n# y" not in text
    (row,) = [line for line in text.splitlines() if line.startswith("| fig4a") and "skipped" in line]
    assert "\\| x # y" in row
