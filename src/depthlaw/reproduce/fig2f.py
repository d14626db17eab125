"""Fig. 2f: the loss of language models falls with depth as a power near 1, once width and tokens are
taken away.
"""

from __future__ import annotations

from depthlaw.data.datasets import DATASETS, find_dataset
from depthlaw.data.runs import read_runs
from depthlaw.errors import InputError, OutputError
from depthlaw.laws.fit import fit
from depthlaw.laws.result import Fit
from depthlaw.laws.words import verdict
from depthlaw.plots.law import draw_loss_part, loss_part
from depthlaw.plots.style import figure, rendered
from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.made import TRUTH, made_runs
from depthlaw.reproduce.outcome import (
    Comparison,
    Correction,
    Outcome,
    OutcomeFigure,
    OutcomeTable,
    compare,
)
from depthlaw.reproduce.paper import Published, published
from depthlaw.reproduce.points import check_point
from depthlaw.reproduce.registry import Scale

TITLE = "Loss of language models against depth: the decomposed scaling law"
EXCLUDED = 40
"""The paper keeps only losses below the 40th largest (App. B.3)."""
DEEPEST = 50
"""The figure shows depths below this."""


def run(scale: Scale) -> Outcome:
    """Fit the decomposed law to the paper's runs; every scale runs the whole of it."""
    try:
        path = find_dataset("chinchilla", download=scale != "smoke")
    except (InputError, OutputError) as missing:
        return _on_made_runs(str(missing).splitlines()[0])
    law = fit(read_runs(path, exclude_highest=EXCLUDED))
    theirs = published("fig2f")
    rows = [
        compare(name, theirs[name], law[name].value, law[name].stderr)
        for name in ("alpha_width", "alpha_depth", "alpha_tokens", "floor")
    ]
    error = law.quality.mean_abs_rel_error
    rows.append(compare("mean_abs_rel_error", theirs["mean_abs_rel_error"], error))
    point = check_point(law, "paper")
    early = Correction(
        "The published point is not the optimum of its own objective (mean squared residual of ln loss).",
        point.objective,
        law.quality.mse,
    )
    return _outcome(
        law,
        f"{law.n_runs} of 245 runs ({DATASETS['chinchilla'].source})",
        rows,
        (point.sentence(), verdict(law)),
        corrections=(early,),
    )


def _on_made_runs(why: str) -> Outcome:
    law = fit(made_runs())
    truth = {n: Published(v, "made, truth", tolerance=3.0) for n, v in TRUTH.items()}
    rows = [compare(name, truth[name], law[name].value, law[name].stderr) for name in law.form.param_names]
    rows = [r for r in rows if not r.quantity.startswith("c_")]
    statements = (
        f"These runs are MADE, because {why}",
        verdict(law),
    )
    truth_stands = "The law of made runs is known: 'published' is that truth here, not the paper's numbers."
    return _outcome(law, f"{law.n_runs} made runs", rows, statements, made=truth_stands)


def _outcome(
    law: Fit,
    source: str,
    rows: list[Comparison],
    statements: tuple[str, ...],
    *,
    corrections: tuple[Correction, ...] = (),
    made: str = "",
) -> Outcome:
    """Put numbers and figure together; ``made`` says what made runs are held against."""
    import pyarrow as pa

    part = loss_part(law, "depth")
    with figure(size=(3.6, 3.0)) as (drawn, axes):
        ax = draw_loss_part(axes[0], part, law["alpha_depth"])
        ax.set_xlim(right=DEEPEST)
        ax.set_title("made runs, known law" if made else "language models")
        files = rendered(drawn, "fig2f")
    curve = {"depth": part.curve_x, "term": part.curve, "term_low": part.low, "term_high": part.high}
    units = {"depth": "blocks", **dict.fromkeys(("term", "term_low", "term_high"), "nats per token")}
    return Outcome(
        id="fig2f",
        title=TITLE,
        input=source,
        comparisons=tuple(rows),
        reference=made,
        corrections=corrections,
        statements=statements,
        figures={"fig2f": OutcomeFigure(files, caption("fig2f"), ("fig2f_curve.parquet",))},
        tables={"fig2f_curve.parquet": OutcomeTable(pa.table(curve), units)},
        notices=tuple(n.message for n in law.notices),
    )
