"""Fits as files: one JSON document that holds everything, numbers exact to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import numpy as np

from depthlaw.data.files import write_file
from depthlaw.data.jsonio import plain
from depthlaw.errors import InputError, Notice, UsageError, cannot_read
from depthlaw.laws.form import Form, to_value
from depthlaw.numerics.terms import Array

if TYPE_CHECKING:
    from depthlaw.laws.result import Fit

SCHEMA = "depthlaw.fit/1"
_GIVE = "Give the fit.json that depthlaw fit --out DIR writes."

T = TypeVar("T")


def fit_document(fit: Fit) -> str:
    """The JSON text of a fit; infinities and NaN are strings, so that they come back."""
    document = {"schema": SCHEMA, **plain(fit, nonfinite=str)}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def save_fit(fit: Fit, path: str | Path) -> None:
    """Write a fit to ``path``, whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    write_file(path, fit_document(fit).encode())


def load_fit(path: str | Path) -> Fit:
    """Read a fit that `save_fit` wrote, or the ``fit.json`` of a run folder.

    Raises
    ------
    InputError
        If the file cannot be read or is not a fit.
    """
    path = Path(path)
    path = path / "fit.json" if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise cannot_read(path, error) from error
    try:
        document = json.loads(text)
    except ValueError as error:
        said = f"not JSON: {error}" if text.strip() else "the file is empty"
        raise InputError(f"{path} is not a saved fit ({said}).", _GIVE) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"{path} is not a saved fit (its schema is not {SCHEMA}).", _GIVE)
    try:
        return _checked(from_document(document))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, UsageError) as error:
        said = " ".join(str(error).split()).removesuffix(".")
        said = f"{said} is missing" if isinstance(error, KeyError) else said
        raise InputError(f"{path} is a damaged fit: {said}.") from error


def _floats(values: Any) -> Array:
    return np.array(values, np.float64)


def _numbers(mapping: dict[str, Any]) -> dict[str, Any]:
    """Undo the strings that stand for what JSON has no number for."""
    return {k: float(v) if v in ("inf", "-inf", "nan") else v for k, v in mapping.items()}


def _pair(ends: list[Any]) -> tuple[float, float]:
    low, high = ends
    return float(low), float(high)


def _typed(cls: type[T], values: dict[str, Any], **parts: Any) -> T:
    """Build a dataclass from ``values``, each of the type that its field has, and ``parts`` as they are.

    Raises
    ------
    TypeError
        If a value has another type.
    """
    hints = get_type_hints(cls)
    for name, value in _numbers(values).items():
        if name not in parts and not isinstance(value, hints[name]):
            raise TypeError(f"{name} is {value!r}")
    return cls(**{**_numbers(values), **parts})


def _checked(fit: Fit) -> Fit:
    """Return a fit whose parts suit each other.

    Raises
    ------
    ValueError
        If they do not.
    """
    names = fit.form.param_names
    if fit.point.shape != (len(names),) or fit.covariance.shape != (len(names), len(names)):
        raise ValueError(f"point or covariance is not of the form {fit.form}")
    if not set(names) <= {p.name for p in fit.params}:
        raise ValueError("parameters are missing")
    if not {*fit.form.scales, "loss"} <= fit.data.keys():
        raise ValueError("columns of the data are missing")
    if len({values.shape for values in fit.data.values()}) > 1 or fit.data["loss"].ndim != 1:
        raise ValueError("columns of the data differ in length")
    if not all((fit.data[name] > 0).all() for name in (*fit.form.scales, "loss")):
        raise ValueError("columns of the data hold values that are not positive")
    if any(c.value.ndim != 1 or c.value.shape != c.zeta.shape for c in fit.profiles):
        raise ValueError("a profile has not as many values as zetas")
    row = fit.form.param_names
    found = {p.name: p.value for p in fit.params if p.name in row and p.value is not None}
    stated = {name: to_value(name, float(x)) for name, x in zip(row, fit.point, strict=True)}
    if apart := [name for name, value in found.items() if not np.isclose(value, stated[name], rtol=1e-9)]:
        raise ValueError(f"{apart[0]} is {found[apart[0]]:g} in params and {stated[apart[0]]:g} in point")
    weights = fit.data.get("weights", np.ones(fit.n_runs))
    with np.errstate(all="ignore"):  # a point that was changed may give any loss
        mse = float(weights / weights.sum() @ fit.residuals() ** 2)
    if not np.isclose(mse, fit.quality.mse, rtol=1e-6, atol=1e-20):
        raise ValueError(f"its point misses the data by an mse of {mse:.3g}, not {fit.quality.mse:.3g}")
    return fit


def from_document(document: dict[str, Any]) -> Fit:
    """The fit that `fit_document` wrote, every value of its type; whether parts agree is not asked."""
    from depthlaw.laws.result import Certificate, Estimate, Fit, ProfileCurve, Quality, Status

    form = document["form"]
    scalars = {"level": float, "errors": str, "objective": str, "delta": float, "source": str}
    for name, kind in scalars.items():
        if not isinstance(document[name], kind):
            raise TypeError(f"{name} is {document[name]!r}")
    return Fit(
        form=_typed(
            Form,
            {"floor": form["floor"]},
            scales=tuple(form["scales"]),
            offsets={name: float(value) for name, value in form["offsets"].items()},
            fixed={name: float(value) for name, value in form["fixed"].items()},
            tied=tuple((left, right) for left, right in form["tied"]),
        ),
        params=tuple(
            _typed(
                Estimate,
                p,
                status=Status(p["status"]),
                interval=None if p["interval"] is None else _pair(p["interval"]),
            )
            for p in document["params"]
        ),
        point=_floats(document["point"]),
        covariance=_floats(document["covariance"]),
        quality=_typed(Quality, document["quality"]),
        certificate=_typed(Certificate, document["certificate"]),
        profiles=tuple(
            _typed(ProfileCurve, c, value=_floats(c["value"]), zeta=_floats(c["zeta"]))
            for c in document["profiles"]
        ),
        notices=tuple(_typed(Notice, n, rows=tuple(map(int, n["rows"]))) for n in document["notices"]),
        **{name: document[name] for name in scalars},
        data={name: _floats(values) for name, values in document["data"].items()},
        history=tuple(map(str, document["history"])),
    )
