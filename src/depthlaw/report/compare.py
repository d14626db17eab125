"""A comparison of forms for people (text) and for programs (one JSON object)."""

from __future__ import annotations

import math
from typing import Any

from depthlaw.laws.comparison import Comparison, Contender
from depthlaw.report.text import NONE, number, table

SCHEMA = 1


def compare_payload(result: Comparison) -> dict[str, Any]:
    """The comparison as one object; forms best first."""
    best = result.contenders[0].aicc
    return {
        "schema": SCHEMA,
        "source": result.source,
        "history": list(result.history),
        "n_runs": result.n_runs,
        "n_groups": result.n_groups,
        "asked": result.asked,
        "forms": [
            {**{k: v for k, v in vars(c).items() if k != "form"}, "delta_aicc": c.aicc - best}
            for c in result.contenders
        ],
        "warnings": list(result.notices),
        "verdict": result.sentence,
    }


def compare_text(result: Comparison) -> str:
    """The comparison as a page of text."""
    best = result.contenders[0].aicc
    head = ["form", "params", "mse", "ΔAICc", "ΔBIC", "held out", "largest out", "bias"]
    best_bic = min(c.bic for c in result.contenders if not c.problem)
    rows = [_row(c, best, best_bic) for c in result.contenders]
    text = table(rows, head)
    text += (
        "\nheld out: rms error of ln(loss) on rows left out at random; largest out: on the largest shapes,\n"
        "fitted without them; bias: mean of ln(predicted/observed) there, negative is too hopeful.\n"
    )
    if problems := [f"{c.name}: {c.problem}\n" for c in result.contenders if c.problem]:
        text += "\n" + "".join(problems)
    shown = {c.name for c in result.contenders[:3]} | {result.asked}
    groups = [c for c in result.contenders if c.by_group and c.name in shown]
    if groups:
        names = list(groups[0].by_group or {})
        rows = [
            [c.name if n == names[0] else "", n, *map(_percent, (c.by_group or {}).get(n, (math.nan,) * 3))]
            for c in groups
            for n in names
        ]
        head = ["residual %", "of", "low", "mid", "high"]
        text += "\n" + table(rows, head)
    if result.notices:
        text += "\n" + "".join(f"note: {n.message}\n" for n in result.notices)
    return text + f"\n{result.sentence}\n"


def _percent(value: float) -> str:
    return NONE if math.isnan(value) else f"{100 * value:+.2f}"


def _row(c: Contender, best_aicc: float, best_bic: float) -> list[str]:
    if c.problem:
        return [c.name, *[NONE] * 7]
    return [
        c.name,
        str(c.n_params),
        number(c.mse, digits=5),
        f"{c.aicc - best_aicc:.1f}",
        f"{c.bic - best_bic:.1f}",
        f"{100 * c.held_out:.2f} %",
        f"{100 * c.extrapolated:.2f} %",
        f"{100 * c.extrapolated_bias:+.2f} %",
    ]
