"""A family of models as text: its members, the law, and what other definitions of the middle give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from depthlaw.report.text import NONE, interval, number, table

if TYPE_CHECKING:
    from depthlaw.data.store import Run
    from depthlaw.laws.result import Estimate
    from depthlaw.probe.family import Family


def family_text(found: Family) -> str:
    """The members, the law in one sentence, and its exponent under other definitions."""
    members = table(
        [
            [
                profile.name,
                str(profile.depth),
                str(profile.width) if profile.width else NONE,
                number(middle, profile.stderr),
                number(profile.stderr, digits=2),
                number(float(law), digits=3),
                number(float(first), digits=3),
                number(float(last), digits=3),
            ]
            for profile, middle, first, last, law in zip(
                found.profiles, found.middle, found.first, found.last, found.fit.predict(), strict=True
            )
        ],
        ["model", "blocks", "width", "θ middle", "±", "law", "θ first", "θ last"],
    )
    others = [
        [f"{other.definition.name} ({other.definition.meaning})", _exponent(other.beta)]
        for other in found.sensitivity
    ]
    notices = "".join(f"note: {notice.message}\n" for notice in found.notices)
    return (
        f"{members}\n{sentence(found)}\n\n"
        f"β with other definitions of the middle:\n{table(others)}{notices and chr(10)}{notices}"
    )


def sentence(found: Family) -> str:
    """The law in words."""
    beta, c = found.beta, found.fit["c_depth"]
    if beta.value is None or c.value is None:
        return f"The models do not determine how the middle angle falls with depth: {beta.reason}"
    ends = NONE if beta.interval is None else interval(*beta.interval)
    holds = beta.interval is not None and beta.interval[0] <= 1 <= beta.interval[1]
    law = f"{number(c.value, c.stderr)}·ℓ^-{number(beta.value, beta.stderr)}"
    return (
        f"The mean angle in the middle falls as {law} "
        f"rad over {len(found.profiles)} models ({found.fit.level:.0%} interval of the exponent {ends}, "
        f"which {'holds' if holds else 'does not hold'} 1)."
    )


def family_payload(found: Family) -> dict[str, Any]:
    """The same for programs."""
    return {
        "models": found.to_table().to_pylist(),
        "params": {"c": _estimate(found.fit["c_depth"]), "beta": _estimate(found.beta)},
        "level": found.fit.level,
        "quality": found.fit.quality,
        "sensitivity": {
            other.definition.name: {
                "meaning": other.definition.meaning,
                "beta": None if other.beta is None else _estimate(other.beta),
            }
            for other in found.sensitivity
        },
        "sentence": sentence(found),
        "warnings": [{"code": n.code, "message": n.message, "rows": list(n.rows)} for n in found.notices],
    }


def write_family(run: Run, found: Family) -> None:
    """Write the table of models, the result and its text into a run folder."""
    run.write_table("family.parquet", found.to_table())
    run.write_json("result.json", family_payload(found))
    run.write_text("family.txt", family_text(found))


def _exponent(beta: Estimate | None) -> str:
    if beta is None or beta.value is None or math.isnan(beta.value):
        return NONE
    ends = "" if beta.interval is None else f" {interval(*beta.interval)}"
    return f"{number(beta.value, beta.stderr)}{ends}"


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "stderr": estimate.stderr,
        "interval": estimate.interval,
        "status": str(estimate.status),
    }
