"""A fit for people (text) and for programs (one JSON object)."""

from __future__ import annotations

from typing import Any

from depthlaw.data.table import RunTable
from depthlaw.laws.against import PointCheck
from depthlaw.laws.optimum import EXACT
from depthlaw.laws.result import Fit
from depthlaw.laws.words import verdict
from depthlaw.plurals import counted
from depthlaw.report.text import interval, number, table

SCHEMA = 1


def fit_payload(fit: Fit, check: PointCheck | None = None) -> dict[str, Any]:
    """The fit as one object, as ``--json`` writes it."""
    payload: dict[str, Any] = {
        "schema": SCHEMA,
        "form": str(fit.form),
        "source": fit.source,
        "history": list(fit.history),
        "n_runs": fit.n_runs,
        "level": fit.level,
        "objective": fit.objective,
        "delta": fit.delta or None,
        "errors": fit.errors,
        "quality": fit.quality,
        "params": {
            p.name: {
                "value": p.value,
                "stderr": p.stderr,
                "interval": p.interval,
                "status": p.status,
                "reason": p.reason,
            }
            for p in fit.params
        },
        "warnings": list(fit.notices),
        "certificate": fit.certificate,
        "verdict": verdict(fit),
    }
    if check is not None:
        payload["against"] = {**vars(check), "admissible": check.admissible}
    return payload


def table_text(runs: RunTable) -> str:
    """How a table was understood: what became of its columns and rows."""
    lines = [f"{runs.source}: {counted(runs.n_runs, 'run')}"]
    lines += [f"  {use.name:<8} from {use.source} ({use.how}, {use.unit_words})" for use in runs.mapping]
    lines += [f"  {step}" for step in runs.history]
    return "\n".join(lines) + "\n"


def fit_text(fit: Fit, check: PointCheck | None = None) -> str:
    """The fit as a page of text: law, parameters, quality, certificate, notices, verdict."""
    rows = [
        [
            p.name,
            number(p.value, p.stderr),
            number(p.stderr, digits=2),
            interval(*p.interval) if p.interval else "—",
            p.status,
        ]
        for p in fit.params
    ]
    q, c = fit.quality, fit.certificate
    head = ["", "value", "std. error", f"{fit.level:.0%} interval", "status"]
    agree = f"{c.starts_at_best} of {c.starts} starts agree"
    exact = q.mse < EXACT**2
    gradient = "residuals at rounding level" if exact else f"scaled gradient {c.scaled_gradient:.0e}"
    sections = [
        f"loss = {law_text(fit)}   ({fit.n_runs} runs)\n",
        table(rows, head),
        f"mse of ln(loss) {number(q.mse, digits=6)}, mean relative error {q.mean_abs_rel_error:.2%}, "
        f"AICc {q.aicc:.1f}, BIC {q.bic:.1f}\n"
        f"optimum: {agree}, {gradient}, "
        f"condition {number(c.condition, digits=2)}\n"
        f"{_objective_text(fit)}errors: {fit.errors}\n",
    ]
    if check is not None:
        sections.append(check.sentence() + "\n")
    if fit.notices:
        sections.append("".join(f"note: {notice.message}\n" for notice in fit.notices))
    sections.append(verdict(fit) + "\n")
    return "\n".join(sections)


def _objective_text(fit: Fit) -> str:
    return f"objective: Huber, delta {fit.delta:g} in log units\n" if fit.objective == "huber" else ""


def law_text(fit: Fit) -> str:
    """The law as a formula, numbers where they are known."""
    parts = []
    for scale in fit.form.scales:
        c, alpha = fit[f"c_{scale}"], fit[f"alpha_{scale}"]
        known = c.value is not None and alpha.value is not None
        c_text = number(c.value, digits=3) if known else f"c_{scale}"
        alpha_text = number(alpha.value, digits=3) if known else f"alpha_{scale}"
        parts.append(f"{c_text} {fit.form.base(scale)}^-{alpha_text}")
    if fit.form.floor:
        parts.append(number(fit["floor"].value, digits=4) if fit["floor"].value is not None else "floor")
    return " + ".join(parts)
