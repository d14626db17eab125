"""How the angle in the middle falls with depth over models: θ = c·ℓ^-β (paper, Fig. 2).

Models of a family differ in width and training too, so this is a description of the family, not the effect of
depth alone. Every model counts once: what scatters are models, and next to that the standard error over
documents of each is small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.data.bounds import check_level
from depthlaw.data.config import replaced
from depthlaw.data.runs import read_runs
from depthlaw.data.shown import Shown
from depthlaw.errors import FitError, Notice, UsageError
from depthlaw.laws.fit import fit
from depthlaw.laws.result import Estimate, Fit
from depthlaw.numerics.streaming import Array
from depthlaw.probe.profile import Profile, profile_from_means, profile_of, read_profile

if TYPE_CHECKING:
    import pyarrow as pa

    from depthlaw.probe.result import ProbeResult

_SHALLOWEST = 3  # blocks, of which one is the middle
_FEWEST = 3  # models for a law with two parameters


@dataclass(frozen=True)
class FamilyConfig:
    """How to compare models.

    Attributes
    ----------
    level
        Confidence level of the intervals.
    """

    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)


@dataclass(frozen=True)
class Definition:
    """One way to say what the middle of a model is.

    Attributes
    ----------
    name
        Short.
    meaning
        In words, blocks counted from 1.
    take
        From a profile to one angle, radians; NaN where it cannot be told.
    """

    name: str
    meaning: str
    take: Callable[[Profile], float]


def _central(theta: Array) -> Array:
    quarter = len(theta) // 4
    return theta[quarter : len(theta) - quarter]


MIDDLE = Definition(
    "middle", "mean over tokens and over blocks 2 to ℓ−1", lambda p: float(p.theta[1:-1].mean())
)
OTHERS = (
    Definition("rest", "the same without first tokens", lambda p: float(p.theta_rest[1:-1].mean())),
    Definition(
        "typical-token", "blocks 2 to ℓ−1, median over tokens", lambda p: float(p.theta_median[1:-1].mean())
    ),
    Definition("typical-block", "median of blocks 2 to ℓ−1", lambda p: float(np.median(p.theta[1:-1]))),
    Definition(
        "inner",
        "blocks 3 to ℓ−2",
        lambda p: float(p.theta[2:-2].mean()) if p.depth > 4 else float("nan"),
    ),
    Definition("central-half", "the central half of the blocks", lambda p: float(_central(p.theta).mean())),
    Definition("all", "every block, first and last included", lambda p: float(p.theta.mean())),
)

FAMILY_UNITS = {
    "model": "1",
    "depth": "1",
    "width": "1",
    **dict.fromkeys(("theta_middle", "stderr", "theta_first", "theta_last", "law"), "rad"),
    **{f"middle:{definition.name}": "rad" for definition in OTHERS},
}
"""Units of `Family.to_table`."""


@dataclass(frozen=True)
class Alternative:
    """What another definition of the middle gives.

    Attributes
    ----------
    definition
        Which one.
    angles
        (models,) radians; NaN where a model cannot tell.
    fit
        The law on the models that can; ``None`` when they are too few.
    """

    definition: Definition
    angles: Array
    fit: Fit | None

    @property
    def beta(self) -> Estimate | None:
        """The exponent; ``None`` without a fit."""
        return None if self.fit is None else self.fit["alpha_depth"]


@dataclass(frozen=True, eq=False, repr=False)
class Family(Shown):
    """Models of different depth, and how their middle angle falls with it.

    Attributes
    ----------
    profiles
        The models, shallow ones first.
    middle
        (models,) mean angle in the middle, radians.
    first, last
        (models,) mean angle at the first and at the last block, kept apart from the law.
    fit
        θ = c_depth · depth^-alpha_depth.
    sensitivity
        The same for other definitions of the middle.
    notices
        What the reader must know.
    """

    profiles: tuple[Profile, ...]
    middle: Array
    first: Array
    last: Array
    fit: Fit
    sensitivity: tuple[Alternative, ...]
    notices: tuple[Notice, ...]

    @property
    def beta(self) -> Estimate:
        """The exponent β, positive when deeper models turn less a block."""
        return self.fit["alpha_depth"]

    @property
    def depths(self) -> Array:
        """(models,) blocks."""
        return np.array([profile.depth for profile in self.profiles], dtype=np.float64)

    def to_table(self) -> pa.Table:
        """One row a model: its angles, and what the law predicts."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            "model": [profile.name for profile in self.profiles],
            "depth": [profile.depth for profile in self.profiles],
            "width": [profile.width or None for profile in self.profiles],
            "theta_middle": self.middle,
            "stderr": [profile.stderr for profile in self.profiles],
            "theta_first": self.first,
            "theta_last": self.last,
            "law": self.fit.predict(),
        }
        columns |= {f"middle:{other.definition.name}": other.angles for other in self.sensitivity}
        return pa.table(columns)

    def _repr_html_(self) -> str:
        return self.fit._repr_html_()


def family(
    probes: Sequence[ProbeResult | Profile | str | Path] | Mapping[str, Any],
    config: FamilyConfig | None = None,
    **settings: Any,
) -> Family:
    """Compare probes of several models.

    Parameters
    ----------
    probes
        Results, profiles or run folders; or angles (layers,) in radians by the name of the model.
    config, settings
        A `FamilyConfig`, and fields of it by name that override it.

    Raises
    ------
    InputError
        When a folder holds no finished probe.
    UsageError
        For a model of fewer than three blocks, which has no middle.
    FitError
        When the models are too few, or all of one depth.
    """
    level = replaced(FamilyConfig, config, settings).level
    profiles = _profiles(probes)
    for profile in profiles:
        if profile.depth < _SHALLOWEST:
            raise UsageError(f"{profile.name} has {profile.depth} blocks, which leaves no middle.")
    if len(profiles) < _FEWEST:
        raise FitError(
            f"not identified: {len(profiles)} models cannot determine how the angle falls with depth.",
            "Probe three models of different depth at the very least.",
        )
    profiles.sort(key=lambda profile: (profile.depth, profile.name))
    depths = np.array([profile.depth for profile in profiles], dtype=np.float64)
    middle = np.array([MIDDLE.take(profile) for profile in profiles])
    law = _fit(depths, middle, level)
    return Family(
        tuple(profiles),
        middle,
        np.array([profile.theta[0] for profile in profiles]),
        np.array([profile.theta[-1] for profile in profiles]),
        law,
        tuple(_alternative(definition, profiles, depths, level) for definition in OTHERS),
        # Of a few models none can be told from the rest, and a family has no robust objective.
        (*_notices(profiles), *(notice for notice in law.notices if notice.code != "outliers")),
    )


def _profiles(probes: Sequence[Any] | Mapping[str, Any]) -> list[Profile]:
    if isinstance(probes, Mapping):
        return [profile_from_means(name, theta) for name, theta in probes.items()]
    return [
        item
        if isinstance(item, Profile)
        else read_profile(item)
        if isinstance(item, str | Path)
        else profile_of(item)
        for item in probes
    ]


def _fit(depths: Array, angles: Array, level: float) -> Fit:
    table = read_runs({"depth": depths, "loss": angles})
    return fit(table, form="depth", floor=False, level=level)


def _alternative(
    definition: Definition, profiles: Sequence[Profile], depths: Array, level: float
) -> Alternative:
    angles = np.array([definition.take(profile) for profile in profiles])
    known = np.isfinite(angles) & (angles > 0)
    law = None
    if known.any():
        with suppress(FitError):
            law = _fit(depths[known], angles[known], level)
    return Alternative(definition, angles, law)


def _notices(profiles: Sequence[Profile]) -> list[Notice]:
    found = []
    for name in dict.fromkeys(name for profile in profiles for name, _ in profile.conditions):
        values = {dict(profile.conditions).get(name, "unknown") for profile in profiles}
        if len(values) > 1:
            listing = ", ".join(sorted(values))
            found.append(Notice(f"{name}-differs", f"{name} differs between the models: {listing}."))
    widths = {profile.width for profile in profiles} - {0}
    if len(widths) > 1:
        found.append(
            Notice(
                "width-differs",
                "width differs between the models too: the exponent describes this family, not depth alone.",
            )
        )
    return found
