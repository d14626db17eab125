"""A design for people (text) and for programs (one JSON object)."""

from __future__ import annotations

from typing import Any

from depthlaw.laws.result import Fit
from depthlaw.planning.design import Design
from depthlaw.report.fit import law_text
from depthlaw.report.text import amount, interval, number, table


def design_payload(fit: Fit, design: Design) -> dict[str, Any]:
    """The design as one object."""
    d = design
    return {
        "law": str(fit.form),
        "source": fit.source,
        "n_runs": fit.n_runs,
        "level": d.level,
        "goal": d.goal,
        "how": d.how,
        "budget": d.config.budget,
        "flops": d.flops,
        "value": d.value,
        "interval_now": None if d.now is None else [d.now.low, d.now.high],
        "interval_expected": None if d.after is None else [d.after.low, d.after.high],
        "width": {
            "now": d.expected_now,
            "after": d.expected_after,
            "after_range": list(d.spread),
            "plain_grid": d.expected_grid,
        },
        "runs": [vars(r) for r in d.runs],
        "warnings": list(d.notices),
    }


def design_text(fit: Fit, design: Design) -> str:
    """The design as a page of text."""
    d = design
    rows = [
        [amount(r.width), amount(r.depth), number(r.tokens), number(r.flops, digits=3), number(r.loss),
         f"{r.without - 1:+.1%}"]
        for r in d.runs
    ]  # fmt: skip
    head = ["width", "depth", "tokens", "FLOP (6 N D)", "loss expected", "interval without it"]
    lines = [
        f"loss = {law_text(fit)}   ({fit.n_runs} runs of {fit.source})\n",
        f"to know: {d.goal}",
        f"runs to train ({number(d.flops, digits=3)} of {number(d.config.budget, digits=3)} FLOP)\n",
        table(rows, head),
    ]
    if d.value is not None and d.now is not None and d.after is not None:
        lines.append(
            f"{d.level:.0%} interval now {number(d.value)} {interval(d.now.low, d.now.high)}, expected "
            f"afterwards {interval(d.after.low, d.after.high)} if the estimate stays"
        )
    lines.append(
        f"expected width: {number(d.expected_now, digits=3)} now, {number(d.expected_after, digits=3)} "
        f"[{number(d.spread[0], digits=3)}, {number(d.spread[1], digits=3)}] with these runs, "
        f"{number(d.expected_grid, digits=3)} with a plain 3 × 3 grid of equal cost"
    )
    lines.append(f"how: {d.how}")
    lines += ["\n" + "".join(f"note: {n.message}\n" for n in d.notices)] if d.notices else [""]
    return "\n".join(lines)
