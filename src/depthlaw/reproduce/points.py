"""Hold a named or saved law against a fit."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from depthlaw.errors import UsageError, cannot_read, no_such_file, unknown_name
from depthlaw.laws.against import PointCheck, against
from depthlaw.laws.form import to_value
from depthlaw.laws.result import Fit
from depthlaw.reproduce.paper import published_points


def check_point(fit: Fit, name: str) -> PointCheck:
    """Evaluate the objective of ``fit`` at ``paper``, or at the point of a saved fit; see `named_point`."""
    return against(fit, *named_point(fit, name))


def named_point(fit: Fit, name: str) -> tuple[dict[str, float], str]:
    """The parameters of a named law in natural units, and what to call it.

    Parameters
    ----------
    fit
        The fit whose form the law must have.
    name
        ``"paper"`` (the published constants, for depth or depth − 2 as the form has it), or the path of a
        ``fit.json``, or of the folder of one.

    Raises
    ------
    UsageError
        If there is no such point, or it belongs to another form.
    InputError
        If a file is not there, or is not a saved fit.
    """
    if _saved(name):
        other = Fit.load(name)
        if other.form.scales != fit.form.scales or dict(other.form.offsets) != dict(fit.form.offsets):
            raise UsageError(f"{name} holds the law {other.form}, which is not of the form {fit.form}.")
        point = {n: to_value(n, float(v)) for n, v in zip(other.form.param_names, other.point, strict=True)}
        return point, f"the law in {name}"
    if name != "paper":
        error = unknown_name("point", name, ["paper"], flag="--against")
        raise UsageError(error.message, error.hint or "Give paper, or the fit.json of another fit.")
    offset = fit.form.offsets.get("depth", 0.0)
    for label, point in published_points().items():
        if point.get("depth_offset", 0.0) == offset and fit.form.scales == ("width", "depth", "tokens"):
            values = {n: v for n, v in point.items() if n != "depth_offset"}
            return values, "the published point" + (" (depth - 2)" if "offset" in label else "")
    raise UsageError(
        f"the paper has no constants for the law {fit.form}.",
        "They are for width + depth + tokens, with depth or depth - 2.",
    )


def point_identity(name: str | None) -> str | None:
    """What tells a named law from others in a run's identity: a saved one by its content, not its path.

    Raises
    ------
    InputError
        If a file is not there or cannot be read.
    """
    if name is None or not _saved(name):
        return name
    path = Path(name)
    file = path / "fit.json" if path.is_dir() else path
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise cannot_read(file, error) from error


def _saved(name: str) -> bool:
    """Whether a name means a file; what looks like a path and is not there is an error, not a name.

    Raises
    ------
    InputError
        If it looks like a path, and there is nothing.
    """
    path = Path(name)
    if path.exists():
        return True
    if os.sep in name or path.suffix:
        raise no_such_file(name)
    return False
