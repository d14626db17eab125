"""App. B.3: how sure is the depth exponent? Bootstrap, held-out splits, the scan over excluded rows,
depth − 2: by the published protocol and at the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depthlaw.data.datasets import DATASETS, find_dataset
from depthlaw.data.runs import RunTable, read_runs
from depthlaw.errors import InputError, OutputError
from depthlaw.laws.bootstrap import bootstrap
from depthlaw.laws.compare import compare
from depthlaw.laws.curves import Curve
from depthlaw.laws.fit import fit
from depthlaw.laws.result import Fit
from depthlaw.laws.sensitivity import sensitivity
from depthlaw.numerics.resampling import draw_counts
from depthlaw.numerics.terms import Array
from depthlaw.plots.sensitivity import draw_curve
from depthlaw.plots.style import MUTED, SECOND, figure, rendered
from depthlaw.reproduce.adam import adam_law
from depthlaw.reproduce.captions import caption
from depthlaw.reproduce.fig2f import EXCLUDED
from depthlaw.reproduce.outcome import Comparison, Correction, Outcome, OutcomeFigure, OutcomeTable
from depthlaw.reproduce.outcome import compare as beside
from depthlaw.reproduce.paper import published, published_points
from depthlaw.reproduce.registry import Scale

TITLE = "How sure is the depth exponent: bootstrap, held-out splits, excluded rows, depth - 2"
RESAMPLES, SPLITS = 200, 10


@dataclass(frozen=True)
class Steps:
    """Adam steps at each scale; the published ones are 50,000 for fits and 10,000 for resamples."""

    fit: int
    resample: int


STEPS: dict[Scale, Steps] = {
    "smoke": Steps(500, 20),
    "small": Steps(50_000, 2_000),
    "paper": Steps(50_000, 10_000),
}


def run(scale: Scale) -> Outcome:
    """Run the appendix; below ``paper`` scale the resamples get fewer Adam steps than published."""
    try:
        whole = read_runs(find_dataset("chinchilla", download=scale != "smoke"))
    except (InputError, OutputError) as missing:
        return Outcome("appB3", TITLE, "", skipped=str(missing).splitlines()[0])
    table = whole.exclude_highest(EXCLUDED)
    law = fit(table)
    shifted = fit(table, depth_offset=2.0)
    sample = bootstrap(law, resamples=RESAMPLES)
    curve = sensitivity(whole, vary=("exclusion",))[0]
    excluded = [int(s.value) for s in curve.settings]

    steps = STEPS[scale]
    adam = _adam(whole, [_kept(whole, k) for k in excluded], steps.fit)
    at_40 = adam[excluded.index(EXCLUDED)]
    rng = np.random.default_rng(0)
    counts = draw_counts(rng, np.arange(table.n_runs), RESAMPLES)
    resampled = _adam(table, counts, steps.resample)
    splits = compare(table, forms=(str(law.form).removesuffix(" + floor"),), splits=SPLITS).contenders[0]

    theirs = published("appB3")
    slope = float(np.polyfit(np.log(table["width"]), np.log(table["depth"]), 1)[0])
    rows: list[Comparison] = []
    for index, name in ((1, "alpha_width"), (3, "alpha_depth"), (5, "alpha_tokens")):
        note = f"bootstrap: {sample.points[:, index].std(ddof=1):.3f}"
        rows.append(beside(f"{name}_error", theirs[f"{name}_error"], law[name].stderr, note=note))
    key = "alpha_depth_of_depth_less_2"
    rows.append(beside(key, theirs[key], shifted["alpha_depth"].value, shifted["alpha_depth"].stderr))
    key = "slope_of_ln_depth_on_ln_width"
    rows.append(beside(key, theirs[key], slope))

    with figure(2, size=(6.6, 3.0)) as (drawn, axes):
        for ax, (index, name) in zip(axes, ((3, "alpha_depth"), (5, "alpha_tokens")), strict=True):
            draw_curve(ax, curve, name)
            ax.plot(
                excluded, adam[:, index], "s--", ms=3, lw=0.9, color=SECOND, label=f"Adam, {steps.fit} steps"
            )
            ax.axvline(EXCLUDED, color=MUTED, lw=0.8, ls=":", zorder=0)
            ax.legend(loc="upper left")
        files = rendered(drawn, "appB3")
    return Outcome(
        id="appB3",
        title=TITLE,
        input=f"{table.n_runs} of {whole.n_runs} runs ({DATASETS['chinchilla'].source})",
        comparisons=tuple(rows),
        statements=(
            _early_stop(law, at_40, steps.fit),
            _resamples(sample.points, resampled, steps.resample),
            _scan(curve),
            f"Held out at random, {SPLITS} splits of 80/20: rms error of ln(loss) {splits.held_out:.2%}.",
        ),
        corrections=_corrections(law, sample.points, at_40, resampled),
        figures={"appB3": OutcomeFigure(files, caption("appB3"), ("appB3_exclusion.parquet",))},
        tables={
            "appB3_exclusion.parquet": OutcomeTable(
                curve.to_table(), dict.fromkeys(curve.to_table().column_names, "1")
            )
        },
        notices=tuple(n.message for n in law.notices),
    )


def _corrections(law: Fit, sample: Array, adam: Array, resampled: Array) -> tuple[Correction, ...]:
    """What the published way gives, beside ours."""
    errors = raw_loss_errors(law)
    depth = list(law.form.param_names).index("alpha_depth")
    return (
        Correction(
            "The reference stops Adam after a fixed number of steps; ours ends at a certified optimum "
            "(alpha_depth).",
            float(adam[3]),
            law["alpha_depth"].value,
        ),
        Correction(
            "The reference takes errors from residuals of the raw loss, though the fit is of its logarithm "
            "(error of alpha_depth).",
            float(errors[depth]),
            law["alpha_depth"].stderr,
        ),
        Correction(
            "The reference labels errors of ln c as errors of c (error of c_depth).",
            None if law["c_depth"].value is None else (law["c_depth"].stderr or 0.0) / law["c_depth"].value,
            law["c_depth"].stderr,
        ),
        Correction(
            "The reference's resamples stop early too, so that they hardly leave the starting point "
            "(bootstrap s.d. of alpha_depth).",
            float(resampled[:, 3].std(ddof=1)),
            float(sample[:, 3].std(ddof=1)),
        ),
    )


def _kept(table: RunTable, k: int) -> Array:
    """Weights (runs,) that leave out the K highest losses."""
    if k == 0:
        return np.ones(table.n_runs)
    cut = np.sort(table["loss"])[-k]
    kept: Array = (table["loss"] < cut).astype(float)
    return kept


def _adam(table: RunTable, counts: list[Array] | Array, steps: int) -> Array:
    return adam_law(table["width"], table["depth"], table["tokens"], table["loss"], np.asarray(counts), steps)


def _early_stop(law: Fit, adam: Array, steps: int) -> str:
    """Where the published optimiser stands after so many steps."""
    objective = float(np.mean((np.log(law.at(adam)) - np.log(law.data["loss"])) ** 2))
    paper = published_points()["paper"]["alpha_depth"]
    text = (
        f"{steps} Adam steps of the published protocol end at alpha_depth {adam[3]:.4f}, "
        f"mse {objective:.5g}; published {paper:.4f}; optimum {law['alpha_depth'].value:.4f}, "
        f"mse {law.quality.mse:.6g}."
    )
    if steps < STEPS["paper"].fit:
        return text
    return text + " The published number is that of an optimiser stopped early."


def _resamples(points: Array, adam: Array, steps: int) -> str:
    """The bootstrap at the optimum, and as published."""
    low, high = np.quantile(points[:, 3], [0.025, 0.975])
    return (
        f"Bootstrap, {RESAMPLES} resamples, each at its optimum: alpha_depth s.d. "
        f"{points[:, 3].std(ddof=1):.3f}, 95 % in [{low:.2f}, {high:.2f}]; with {steps} Adam steps each: "
        f"s.d. {adam[:, 3].std(ddof=1):.3f} around {adam[:, 3].mean():.3f}."
    )


def _scan(curve: Curve) -> str:
    """The exponent along the number of excluded rows."""
    found = []
    for setting in curve.settings:
        estimate = next((e for e in setting.exponents if e.name == "alpha_depth"), None)
        if estimate is not None and estimate.value is not None:
            found.append(f"{estimate.value:.3f} ({setting.value:.0f})")
    return f"alpha_depth by number of highest losses excluded: {', '.join(found)}."


def raw_loss_errors(law: Fit) -> Array:
    """(params,) standard errors as the reference takes them: from residuals of the loss, not of its log."""
    split = law.terms()
    columns = []
    for scale in law.form.scales:
        columns += [split[scale], -split[scale] * np.log(law.data[scale])]
    jacobian = np.column_stack([*columns, np.ones(law.n_runs)])
    residuals = law.predict() - law.data["loss"]
    variance = residuals @ residuals / (law.n_runs - jacobian.shape[1])
    # Through R of a QR decomposition: JᵀJ itself loses half the digits.
    inverse = np.linalg.inv(np.linalg.qr(jacobian, mode="r"))
    errors: Array = np.sqrt(variance * np.sum(inverse**2, axis=1))
    return errors
