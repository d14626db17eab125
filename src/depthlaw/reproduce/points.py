"""Hold a named or saved law against a fit."""

from __future__ import annotations

from pathlib import Path

from depthlaw.errors import UsageError, unknown_name
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
        ``fit.json``.

    Raises
    ------
    UsageError
        If there is no such point, or it belongs to another form.
    InputError
        If a file is not a saved fit.
    """
    if Path(name).exists():
        other = Fit.load(name)
        if other.form.scales != fit.form.scales or dict(other.form.offsets) != dict(fit.form.offsets):
            raise UsageError(f"{name} holds the law {other.form}, which is not of the form {fit.form}.")
        point = {n: to_value(n, float(v)) for n, v in zip(other.form.param_names, other.point, strict=True)}
        return point, f"the law in {name}"
    if name != "paper":
        raise unknown_name("point", name, ["paper"], flag="--against")
    offset = fit.form.offsets.get("depth", 0.0)
    for label, point in published_points().items():
        if point.get("depth_offset", 0.0) == offset and fit.form.scales == ("width", "depth", "tokens"):
            values = {n: v for n, v in point.items() if n != "depth_offset"}
            return values, "the published point" + (" (depth - 2)" if "offset" in label else "")
    raise UsageError(
        f"the paper has no constants for the law {fit.form}.",
        "They are for width + depth + tokens, with depth or depth - 2.",
    )
