"""A plan for people (text) and for programs (one JSON object)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from depthlaw.data.jsonio import json_text
from depthlaw.laws.result import Fit
from depthlaw.planning.planned import Plan, Range
from depthlaw.report.fit import law_text
from depthlaw.report.text import amount, interval, number, table


def plan_payload(fit: Fit, plan: Plan) -> dict[str, Any]:
    """The plan as one object, without the curves of its figures."""
    p = plan

    def ranged(r: Range) -> dict[str, Any]:
        return {"value": r.value, "interval": [r.low, r.high]}

    return {
        "law": str(fit.form),
        "source": fit.source,
        "n_runs": fit.n_runs,
        "level": p.level,
        "intervals": p.how,
        "budget": list(p.budget),
        "closed_form": p.closed_form,
        "ray": p.ray,
        "best": {
            **{name: ranged(r) for name, r in p.quantities().items()},
            "params": p.params,
            "flops": p.flops,
            "run_interval": list(p.run),
            "terms": dict(p.terms),
            "outside": {
                "log_distance": p.distance.hull[0],
                "by_scale": {scale: values[0] for scale, values in p.distance.beyond.items()},
            },
        },
        "flatness": [{"share": f.share, "depth": f.depth, "width": f.width} for f in p.flat],
        "regret": {"median": p.regret[0], "upper": p.regret[1]},
        "buildable": [
            {
                **{
                    name: getattr(b, name)
                    for name in ("width", "depth", "tokens", "loss", "above_best", "used")
                },
                "params": {**vars(b.count), "total": b.count.total},
                "flops": b.flops,
                "config": dict(b.config),
            }
            for b in p.buildable
        ],
        "what_if": [{**vars(w), "excess": ranged(w.excess)} for w in p.whatif],
        "margins": [{**vars(m), "gain": ranged(m.gain)} for m in p.margins],
        "warnings": list(p.notices),
    }


def plan_text(fit: Fit, plan: Plan) -> str:
    """The plan as a page of text."""
    p = plan
    sections = [
        f"loss = {law_text(fit)}   ({fit.n_runs} runs of {fit.source})\n",
        "budget: " + "\n        ".join(p.budget) + "\n",
        _best(p),
    ]
    if p.growth is not None:
        sections.append(_growth(p))
    if p.flat:
        sections.append(_flatness(p))
    if p.buildable:
        sections.append(_buildable(p))
    if p.whatif:
        sections.append(_what_if(p))
    if p.margins:
        sections.append(_margins(p))
    if p.notices:
        sections.append("".join(f"note: {notice.message}\n" for notice in p.notices))
    return "\n".join(sections)


def other_text(label: str, other: Mapping[str, float]) -> str:
    """The best allocation under another law, in a line."""
    size = f"{other['width']:.0f} × {number(other['depth'])}"
    tokens = f" on {number(other['tokens'])} tokens" if "tokens" in other else ""
    return f"{label}: best {size}{tokens}, loss {number(other['loss'])}\n"


def _best(p: Plan) -> str:
    rows = [
        ["width", amount(p.width.value), _range(p.width)],
        ["depth", number(p.depth.value), _range(p.depth)],
    ]
    if p.tokens is not None:
        fixed = p.tokens.low == p.tokens.high
        given = p.config.tokens is not None or p.config.flops is not None
        held = "given" if given else "20 a parameter"
        rows.append(["tokens", amount(p.tokens.value), held if fixed else _range(p.tokens)])
    rows.append(["loss", number(p.loss.value), _range(p.loss)])
    kind = "closed form" if p.closed_form else "solved numerically"
    if p.ray is not None:
        kind = f"along the line of the data, {p.ray}"
    split = " + ".join(f"{name} {number(value, digits=3)}" for name, value in p.terms.items())
    text = f"best allocation ({kind}; intervals: {p.how})\n"
    text += table(rows, ["", "best", f"{p.level:.0%} interval"])
    text += f"loss = {split}; a single run: {interval(*p.run)}\n"
    size = f"{number(p.params)} parameters"
    text += size + (f", {number(p.flops)} FLOP of training\n" if p.flops is not None else "\n")
    return text


def _growth(p: Plan) -> str:
    g = p.growth
    assert g is not None
    return (
        f"growth (parameters ∝ m²ℓ): best depth = {number(g.prefactor.value, digits=3)} "
        f"[{number(g.prefactor.low, digits=2)}, {number(g.prefactor.high, digits=2)}] "
        f"× width^{number(g.exponent.value, digits=3)} {_range(g.exponent)}\n"
        f"  width and depth terms together fall as N^-{number(g.model_exponent.value, digits=3)} "
        f"{_range(g.model_exponent)}\n"
    )


def _flatness(p: Plan) -> str:
    rows = [
        [
            f"{f.share:.1%}",
            f"{f.width[0]:.0f} × {_depth(f.depth[0])}  to  {f.width[1]:.0f} × {_depth(f.depth[1])}",
            f"{f.width[0] / f.depth[0]:.0f} to {f.width[1] / f.depth[1]:.0f}",
        ]
        for f in p.flat
    ]
    return (
        "flatness: shapes (width × depth) of equal cost\n"
        + table(rows, ["loss within", "from … to", "width / depth"])
        + f"if the law is another that the data allow, the shape above loses {p.regret[0]:.2%} to that law's "
        f"own best (median), at most {p.regret[1]:.2%} ({p.level:.0%})\n"
    )


def _buildable(p: Plan) -> str:
    config = p.config
    rows = []
    for b in p.buildable:
        row = [str(b.width), str(b.depth), str(b.count.total), str(b.count.blocks)]
        row += [number(b.tokens)] if np.isfinite(b.tokens) else []
        rows.append([*row, number(b.loss, digits=5), f"{max(b.above_best, 0.0):.3%}", f"{b.used:.1%}"])
    head = ["width", "depth", "all parameters", "blocks only"]
    head += ["tokens"] if np.isfinite(p.buildable[0].tokens) else []
    head += ["loss", "above best", "budget used"]
    a = config.architecture
    how = f"{a.family}, width multiple {config.width_multiple}, head_dim {a.head_dim}, "
    how += f"feed-forward {number(a.ratio, digits=3)} m, vocabulary {a.vocab}, "
    how += "head tied" if a.tied else "head of its own"
    if a.queries_per_key > 1:
        how += f", {a.queries_per_key} queries per key"
    snippet = json_text(p.buildable[0].config)
    return f"shapes that can be built ({how})\n{table(rows, head)}\nconfig.json of the first:\n{snippet}"


def _what_if(p: Plan) -> str:
    lines = ["what if:"]
    for w in p.whatif:
        what = "compute" if p.flops is not None and p.config.params is None else "parameters"
        inside = "inside" if w.within else "outside"
        lines += [
            f"  {w.width} × {w.depth} ({number(w.params)} parameters): loss {number(w.loss, digits=5)}; best "
            f"at equal cost {w.best_width:.0f} × {_depth(w.best_depth)}: {number(w.best_loss, digits=5)}",
            f"    {_above(w.excess.value)} above it [{_above(w.excess.low)}, "
            f"{_above(w.excess.high)}], worth {w.saving:.1%} of its {what}; its depth is {inside} the "
            "interval of the best",
        ]
    return "\n".join(lines) + "\n"


def _margins(p: Plan) -> str:
    rows = [
        [
            m.change,
            number(m.gain.value, digits=3),
            _range(m.gain),
            f"+{m.params:.1%}",
            f"+{m.flops:.1%}",
            number(m.gain.value / (100 * m.flops), digits=3),
        ]
        for m in p.margins
    ]
    head = ["", "loss saved", f"{p.level:.0%} interval", "parameters", "FLOP", "saved per 1 % FLOP"]
    return "worth of a little more\n" + table(rows, head)


def _depth(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _above(log_excess: float) -> str:
    """A loss above another in per cent, with the decimals that its size deserves."""
    share = float(np.expm1(log_excess))
    return f"{share:.3%}" if share < 0.1 else f"{share:.1%}"


def _range(r: Range) -> str:
    return interval(r.low, r.high)
