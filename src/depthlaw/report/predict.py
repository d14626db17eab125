"""Predictions, and what reaches a loss, for people (text) and for programs (one JSON object)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from depthlaw.laws.result import Fit
from depthlaw.planning.answers import Answer, Reach
from depthlaw.planning.predict import Prediction
from depthlaw.report.fit import law_text
from depthlaw.report.text import amount, interval, number, table


def prediction_payload(fit: Fit, prediction: Prediction) -> dict[str, Any]:
    """Predictions as one object."""
    p = prediction
    points = [
        {
            **{scale: values[i] for scale, values in p.scales.items()},
            "determined": bool(p.determined[i]),
            "loss": p.loss[i],
            "interval": [p.low[i], p.high[i]],
            "run_interval": [p.run_low[i], p.run_high[i]],
            "terms": {name: values[i] for name, values in p.terms.items()},
            "outside": {
                "log_distance": p.distance.hull[i],
                "by_scale": {scale: values[i] for scale, values in p.distance.beyond.items()},
            },
        }
        for i in range(len(p))
    ]
    return {
        "law": str(fit.form),
        "source": fit.source,
        "n_runs": fit.n_runs,
        "level": p.level,
        "intervals": p.how,
        "scatter": p.scatter,
        "points": points,
        "warnings": list(p.notices),
    }


def prediction_text(fit: Fit, prediction: Prediction) -> str:
    """Predictions as a page of text: one table, then what the reader must know."""
    p = prediction
    outside = p.distance.hull.max() > 0
    head = [*p.scales, "loss", f"{p.level:.0%} interval", "single run"]
    head += [name if name == "floor" else f"{name} term" for name in p.terms]
    head += ["outside (log)"] if outside else []
    rows = []
    for i in range(len(p)):
        known = bool(p.determined[i])
        row = [amount(float(values[i])) for values in p.scales.values()]
        row += [number(float(p.loss[i]))] if known else ["not determined"]
        row += [interval(p.low[i], p.high[i]), interval(p.run_low[i], p.run_high[i])]
        row += [number(float(values[i]), digits=3) for values in p.terms.values()]
        row += [number(float(p.distance.hull[i]), digits=2)] if outside else []
        rows.append(row)
    lines = [
        f"loss = {law_text(fit)}   ({fit.n_runs} runs of {fit.source})\n",
        table(rows, head),
        f"interval: of the law, {p.how}; single run: widened by the runs' scatter of {p.scatter:.2%}\n",
    ]
    lines += ["".join(f"note: {n.message}\n" for n in p.notices)] if p.notices else []
    return "\n".join(lines)


def reach_payload(fit: Fit, answers: Sequence[Reach]) -> dict[str, Any]:
    """What reaches a loss, as one object."""
    return {
        "law": str(fit.form),
        "source": fit.source,
        "n_runs": fit.n_runs,
        "answers": [
            {
                "loss": a.loss,
                "solved_for": a.what,
                "answer": a.answer,
                "value": a.value,
                "interval": None if a.value is None else [a.low, a.high],
                "open_above": a.high is not None and bool(np.isinf(a.high)),
                "limit": {"loss": a.limit, "interval": [a.limit_low, a.limit_high]},
                "at": dict(a.at),
                "outside": None if a.distance is None else a.distance.hull[0],
                "reason": a.reason,
                "intervals": a.how,
            }
            for a in answers
        ],
    }


def reach_text(fit: Fit, answers: Sequence[Reach]) -> str:
    """What reaches a loss, a line or two each."""
    lines = [f"loss = {law_text(fit)}   ({fit.n_runs} runs of {fit.source})\n"]
    for a in answers:
        named = {"params": "parameters (12 m²ℓ, best shape)", "flops": "FLOP (6 N D, best shape and tokens)"}
        what = named.get(a.what, a.what)
        given = ", ".join(f"{s} {amount(float(v))}" for s, v in a.at.items() if s != a.what)
        if a.answer is Answer.REACHED and a.value is not None and a.low is not None and a.high is not None:
            ends = interval(a.low, a.high)
            lines.append(f"loss {a.loss:g}: {what} {amount(float(a.value))} {ends}, at {given}")
            if np.isinf(a.high):
                lines.append("  the data do not exclude that no amount is enough")
            if words := (a.distance.words(0) if a.distance is not None else ""):
                lines.append(f"  note: {words}")
        elif a.answer is Answer.UNREACHABLE:
            lines.append(
                f"loss {a.loss:g}: unreachable by {what}{' at ' + given if given else ''}: {a.reason}"
            )
        else:
            lines.append(f"loss {a.loss:g}: {what} not determined: {a.reason}")
    lines.append(f"\nintervals: {answers[0].how}")
    return "\n".join(lines) + "\n"
