"""A report for programs: one JSON object, described by ``report.schema.json``."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from depthlaw.report.page.claims import Claim, claim_groups, counts
from depthlaw.report.page.model import DataTable, Report, Section

SCHEMA = 1
MADE_BY = "depthlaw report"


def report_payload(report: Report) -> dict[str, Any]:
    """Everything on the page but the bytes of figures and tables; places are below the folder reported."""
    groups = claim_groups(report)
    claims = [_claim(claim, group.reference) for group in groups for claim in group.claims]
    return {
        "schema": SCHEMA,
        "made_by": MADE_BY,
        "folder": report.name,
        "scales": list(report.scales),
        "counts": counts(groups),
        "claims": claims,
        "corrections": [
            {"experiment": section.experiment, "scale": section.scale, **vars(correction)}
            for section in report.experiments
            if section.outcome
            for correction in section.outcome.corrections
        ],
        "warnings": [
            {"kind": warn.kind, "about": list(warn.about), "message": warn.message}
            for warn in report.warnings
        ],
        "experiments": [_experiment(section) for section in report.experiments],
        "runs": [_run(section) for section in report.runs],
        "not_run": [{"id": experiment.id, "title": experiment.title} for experiment in report.not_run],
    }


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `report_payload`."""
    text = files("depthlaw.report.page").joinpath("report.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _claim(claim: Claim, reference: str) -> dict[str, Any]:
    c = claim.comparison
    return {
        "experiment": claim.experiment,
        "scale": claim.scale,
        "quantity": c.quantity if c else None,
        "words": claim.number or None,
        "published": c.published if c else None,
        "published_error": c.published_error if c else None,
        "reference": reference or None,
        "ours": c.ours if c else None,
        "error": c.error if c else None,
        "difference": c.difference if c else None,
        "difference_unit": claim.difference_unit,
        "digits": c.digits if c else None,
        "verdict": claim.verdict,
        "note": claim.note,
    }


def _experiment(section: Section) -> dict[str, Any]:
    outcome = section.outcome
    return {
        "id": section.experiment,
        "title": section.title,
        "scale": section.scale,
        "verdict": outcome.verdict if outcome else None,
        "input": outcome.input if outcome else None,
        "statements": list(outcome.said) if outcome else [],
        "problem": section.problem or (outcome.failed or outcome.skipped if outcome else ""),
        **_files(section),
        "run": _manifest(section),
    }


def _run(section: Section) -> dict[str, Any]:
    return {"title": section.title, "text": section.text, **_files(section), "run": _manifest(section)}


def _files(section: Section) -> dict[str, Any]:
    drawn = {table.name: table for picture in section.pictures for table in picture.data}
    tables = [*drawn.values(), *section.tables]
    return {
        "folder": section.place,
        "figures": [
            {
                "name": picture.name,
                "file": picture.place,
                "caption": picture.caption,
                "data": [table.name for table in picture.data],
            }
            for picture in section.pictures
        ],
        "tables": [_table(table) for table in tables],
    }


def _table(table: DataTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "file": table.place,
        "rows": table.n_rows,
        "units": dict(table.units),
        "withheld": table.withheld or None,
    }


def _manifest(section: Section) -> dict[str, Any]:
    run = section.manifest
    names = (
        "verb", "id", "status", "created", "started", "finished", "seed", "device", "dtype", "model_commit",
        "versions", "config", "error",
    )  # fmt: skip
    return {name: getattr(run, name) for name in names}
