"""The hidden-state probe: one pass of a language model over text, and what its layers did to each token.

The package is also the function: ``depthlaw.probe(model, text)`` is `depthlaw.probe.run.probe`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that can be called, since the verb and the room have the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Probe a model; see `depthlaw.probe.run.probe`."""
        from depthlaw.probe.run import probe

        return probe(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
