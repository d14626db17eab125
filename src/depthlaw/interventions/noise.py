"""How a subject is corrupted, as users spell it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from depthlaw.errors import UsageError

_FORM = re.compile(r"([su]?)(\d+(?:\.\d*)?|\.\d+)")


@dataclass(frozen=True)
class Noise:
    """How a subject is corrupted.

    Attributes
    ----------
    kind
        ``gaussian``, ``uniform``, or ``other``: the embeddings of another subject.
    level
        Standard deviation of a Gaussian, half width of a uniform one; 0 for ``other``.
    scaled
        Whether ``level`` counts in standard deviations of the embedding output at the subject tokens.
    """

    kind: Literal["gaussian", "uniform", "other"]
    level: float
    scaled: bool

    def words(self, unit: float) -> str:
        """What was done, in words."""
        if self.kind == "other":
            return "embeddings of other subjects"
        shape = "Gaussian, standard deviation" if self.kind == "gaussian" else "uniform within ±"
        size = f"{self.level:g} × {unit:.4g}" if self.scaled else f"{self.level:g}"
        return f"{shape} {size}".replace("± ", "±")


def parse_noise(text: str) -> Noise:
    """Read ``s3``, ``0.1``, ``u3`` or ``t``.

    Raises
    ------
    UsageError
        For anything else.
    """
    if text == "t":
        return Noise("other", 0.0, False)
    match = _FORM.fullmatch(text.strip())
    if match is None or not float(match[2]) > 0:
        raise UsageError(
            f'noise "{text}" is not understood.',
            "s3: 3 × the embeddings' standard deviation, u3: uniform, 0.1: a number, t: another subject.",
        )
    kind: Literal["gaussian", "uniform"] = "uniform" if match[1] == "u" else "gaussian"
    return Noise(kind, float(match[2]), scaled=match[1] != "")
