"""What an experiment of the laboratory is expected to show at a scale, from ``scales.toml``.

At the paper's scale that is what the paper published or theory fixes. Reduced scales cannot show it; theirs
is what independent seeds have shown at that scale.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from depthlaw.reproduce.paper import Published
from depthlaw.reproduce.registry import Scale


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("depthlaw.reproduce").joinpath("scales.toml").read_text(encoding="utf-8"))


def expected(experiment: str, scale: Scale) -> dict[str, Published]:
    """Return expected numbers by quantity; none where a scale can show nothing."""
    entries = _document().get(scale, {}).get(experiment, {})
    return {name: Published(**{"place": f"scale {scale}", **entry}) for name, entry in entries.items()}
