"""How far do exponents move with choices that the data do not make? Curves instead of one number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from depthlaw.data.config import own_first, replaced
from depthlaw.data.runs import RunTable, read_runs
from depthlaw.errors import DepthlawError, FitError, UsageError
from depthlaw.laws.bootstrap import influence
from depthlaw.laws.config import FitConfig
from depthlaw.laws.curves import Curve, Sensitivity, Setting
from depthlaw.laws.fit import fit
from depthlaw.laws.form import to_value
from depthlaw.laws.result import Estimate, Fit, Status
from depthlaw.numerics.terms import Array

Knob = Literal["exclusion", "offset", "delta", "shapes", "influence"]
KNOBS: tuple[Knob, ...] = ("exclusion", "offset", "delta", "shapes", "influence")

EXCLUDED = (0, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
DELTAS = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


@own_first
@dataclass(frozen=True)
class SensitivityConfig(FitConfig):
    """Which choices to vary.

    Attributes
    ----------
    vary
        exclusion (of the K highest losses), offset (of depth), delta (of the Huber objective), shapes
        (bands of width, depth and aspect ratio left out), influence (each run left out); none for all.
    """

    vary: tuple[Knob, ...] = ()


def sensitivity(
    table: RunTable | Any,
    config: SensitivityConfig | None = None,
    *,
    progress: Callable[[str], None] = lambda _: None,
    **settings: Any,
) -> Sensitivity:
    """Fit a table again and again under choices that the data do not make.

    Parameters
    ----------
    table
        A `RunTable`, or anything `read_runs` takes. The exclusion curve starts from the rows given here.
    config, **settings
        See `SensitivityConfig`.
    progress
        Called with one line before each curve.

    Raises
    ------
    FitError
        If the table cannot be fitted as it is.
    UsageError
        If a choice does not apply to the form.
    """
    config = replaced(SensitivityConfig, config, settings)
    table = table if isinstance(table, RunTable) else read_runs(table)
    form = config.resolve(table.columns, table.source, table.headers)
    if "offset" in config.vary and "depth" not in form.scales:
        raise UsageError(f"the law {form} has no depth to offset.", "Vary something else: --vary exclusion")
    knobs = config.vary or tuple(k for k in KNOBS if k != "offset" or "depth" in form.scales)
    curves = []
    for knob in knobs:
        progress(f"varying {knob}")
        curves.append(_CURVES[knob](table, config))
    tried = [setting for curve in curves for setting in curve.settings]
    if all(setting.problem for setting in tried):
        raise FitError(tried[0].problem.removesuffix(".") + ", whatever is varied.")
    return Sensitivity(curves)


def _setting(label: str, value: float, table: RunTable, config: FitConfig) -> Setting:
    plain = {f: getattr(config, f) for f in FitConfig.__dataclass_fields__}
    try:
        law = fit(table, FitConfig(**plain))
    except DepthlawError as error:
        return Setting(label, value, table.n_runs, problem=error.message)
    shown = tuple(p for p in law.params if not p.name.startswith("c_"))
    return Setting(label, value, law.n_runs, law.quality.mse, shown)


def _exclusion(table: RunTable, config: SensitivityConfig) -> Curve:
    needed = 3 * (2 * len(config.resolve(table.columns, table.source, table.headers).scales) + 1)
    settings = [_excluding(k, table, config) for k in EXCLUDED if not k or k < table.n_runs - needed]
    return Curve("exclusion", "highest losses excluded from the rows given", tuple(settings), base=0)


def _excluding(k: int, table: RunTable, config: FitConfig) -> Setting:
    label = f"without {k} highest" if k else "rows as given"
    try:
        rest = table.exclude_highest(k)
    except DepthlawError as error:  # ties at the cut can take all that is left
        return Setting(label, k, 0, problem=error.message)
    return _setting(label, k, rest, config)


def _offset(table: RunTable, config: SensitivityConfig) -> Curve:
    smallest = float(table["depth"].min())
    offsets = [o for o in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0) if o < smallest]
    settings = [_setting(f"depth - {o:g}", o, table, replace(config, depth_offset=o)) for o in offsets]
    base = offsets.index(config.depth_offset) if config.depth_offset in offsets else None
    return Curve("offset", "offset subtracted from depth", tuple(settings), base)


def _delta(table: RunTable, config: SensitivityConfig) -> Curve:
    huber = replace(config, objective="huber", intervals="auto")
    settings = [_setting(f"huber {d:g}", d, table, replace(huber, delta=d)) for d in DELTAS]
    squares = _setting("mse", 0.1, table, replace(config, objective="mse"))
    if config.objective == "mse":
        base: int | None = len(settings)
    else:
        base = DELTAS.index(config.delta) if config.delta in DELTAS else None
    return Curve("delta", "Huber delta (log units; last: least squares)", (*settings, squares), base)


def _shapes(table: RunTable, config: SensitivityConfig) -> Curve:
    settings = [_setting("all shapes", 0, table, config)]
    for label, keep in _bands(table):
        if 10 <= keep.sum() < table.n_runs:
            settings.append(_setting(label, len(settings), table.take(keep.astype(bool), label), config))
    return Curve("shapes", "shapes kept", tuple(settings), base=0)


def _bands(table: RunTable) -> Iterator[tuple[str, Array]]:
    """Halves of the shapes by width, depth, aspect ratio and size."""
    scales = {s: table[s] for s in ("width", "depth", "params", "tokens") if s in table.columns}
    if {"width", "depth"} <= set(scales):
        scales["width/depth"] = scales["width"] / scales["depth"]
    for name, values in scales.items():
        if not np.isfinite(values).all() or len(np.unique(values)) < 4:
            continue
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        yield f"{name} <= {_short(middle)}", values <= middle
        yield f"{name} > {_short(middle)}", values > middle
        yield f"{name} {_short(low)} to {_short(high)}", (values >= low) & (values <= high)


def _short(value: float) -> str:
    return f"{value:.0f}" if 100 <= value < 1e5 else f"{value:.3g}".replace("e+0", "e").replace("e+", "e")


def _influence(table: RunTable, config: SensitivityConfig) -> Curve:
    plain = {f: getattr(config, f) for f in FitConfig.__dataclass_fields__}
    law = fit(table, FitConfig(**plain))
    left = influence(law)
    names = law.form.param_names
    index = next((i for i, n in enumerate(names) if n == "alpha_depth"), 1)
    order = np.argsort(-np.abs(left.change[:, index]))
    settings = [Setting("all runs", 0, law.n_runs, law.quality.mse, _points(law, law.point))]
    for rank, group in enumerate(order[:12]):
        row = int(left.rows[group])
        label = f"without {table.clusters[row] if table.clusters is not None else table.place(row)}"
        kept = law.n_runs - int(left.size[group])
        point = law.point + left.change[group]
        settings.append(Setting(label, rank + 1, kept, np.nan, _points(law, point)))
    return Curve(
        "influence", f"run left out (largest effect on {names[index]} first)", tuple(settings), base=0
    )


def _points(law: Fit, point: Array) -> tuple[Estimate, ...]:
    """A point as estimates without errors: leave-one-out fits have none of their own."""
    return tuple(
        Estimate(name, to_value(name, float(v)), None, None, Status.OK)
        for name, v in zip(law.form.param_names, point, strict=True)
        if not name.startswith("c_") and law[name].status is Status.OK
    )


_CURVES: dict[Knob, Callable[[RunTable, SensitivityConfig], Curve]] = {
    "exclusion": _exclusion,
    "offset": _offset,
    "delta": _delta,
    "shapes": _shapes,
    "influence": _influence,
}
