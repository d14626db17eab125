"""``depthlaw predict``: the loss at given scales, or the scales that reach a loss."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from depthlaw.cli.law import AS_SAVED, LawOptions
from depthlaw.cli.output import TEXT, Format
from depthlaw.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from depthlaw.laws.result import Fit

_SCALES = ("width", "depth", "tokens", "params", "flops")


def predict_command(
    law: Path,
    /,
    *,
    width: tuple[float, ...] = (),
    depth: tuple[float, ...] = (),
    tokens: tuple[float, ...] = (),
    params: tuple[float, ...] = (),
    flops: tuple[float, ...] = (),
    points: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    loss: float | None = None,
    level: float | None = None,
    resamples: int = 400,
    seed: int = 0,
    options: LawOptions = AS_SAVED,
    format: Format = TEXT,
) -> int:
    """Predict the loss of a model, with intervals; or find what reaches a loss (--loss).

    Exits with 4 when the data do not determine the law at any of the points asked for.

    Parameters
    ----------
    law
        A saved fit (fit.json, or the folder that depthlaw fit --out wrote), or a table of runs to fit first.
    width
        Widths (d_model); several values make several points.
    depth
        Depths (blocks).
    tokens
        Training tokens.
    params
        Parameters, for a law that has them as a scale.
    flops
        Training compute, for a law that has it as a scale.
    points
        Table of points to predict, with columns named like those of runs.
    loss
        Invert: which tokens, width, depth reach this loss, the rest given; fewest parameters with --tokens
        alone; least compute with nothing else.
    level
        Confidence level of the intervals; that of the fit by default.
    resamples
        Bootstrap refits, where intervals come from them.
    seed
        Seed of the resampling.
    """
    given = {"width": width, "depth": depth, "tokens": tokens, "params": params, "flops": flops}
    scales: dict[str, Any] = {name: values for name, values in given.items() if values}
    fitted = options.load(law, level=level, seed=seed)
    if points is not None:
        if scales or loss is not None:
            raise UsageError("--points holds the scales: leave the others and --loss out.")
        scales = _read_points(points, fitted)
    if loss is not None:
        return _invert(fitted, loss, scales, level, resamples, seed, format)

    from depthlaw.planning.predict import predict_at
    from depthlaw.report.predict import prediction_payload, prediction_text

    prediction = predict_at(fitted, level=level, resamples=resamples, seed=seed, **scales)
    format.emit(prediction_payload(fitted, prediction), prediction_text(fitted, prediction))
    return ExitCode.DONE if prediction.determined.all() else ExitCode.NOT_IDENTIFIED


def _invert(
    fitted: Fit,
    loss: float,
    scales: dict[str, Any],
    level: float | None,
    resamples: int,
    seed: int,
    format: Format,
) -> int:
    from depthlaw.planning.answers import Answer
    from depthlaw.planning.invert import reach
    from depthlaw.report.predict import reach_payload, reach_text

    for name, values in scales.items():
        if len(values) > 1:
            raise UsageError(f"--loss takes one value of --{name}, not {len(values)}.")
    answers = reach(fitted, loss, level=level, resamples=resamples, seed=seed, **scales)
    format.emit(reach_payload(fitted, answers), reach_text(fitted, answers))
    unknown = all(a.answer is Answer.NOT_DETERMINED for a in answers)
    return ExitCode.NOT_IDENTIFIED if unknown else ExitCode.DONE


def _read_points(path: Path, fitted: Fit) -> dict[str, Any]:
    from depthlaw.data.runs import read_runs

    wanted = [s for s in _SCALES if s in fitted.form.scales]
    table = read_runs(path, use=wanted)
    table.require(*wanted)
    return {s: table[s] for s in wanted}
