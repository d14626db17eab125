"""Causal language models as residual stacks: loaded, their parts found from structure, checked by numbers.

The names below are loaded on first use: settings of a model can be read without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from depthlaw.lazy import names_of

if TYPE_CHECKING:
    from depthlaw.models.language_model import LanguageModel, Tokens
    from depthlaw.models.load import adopt, load_model
    from depthlaw.models.roles import Roles

__all__ = ["LanguageModel", "Roles", "Tokens", "adopt", "load_model"]

__getattr__ = names_of(
    __name__,
    {
        "LanguageModel": "depthlaw.models.language_model",
        "Roles": "depthlaw.models.roles",
        "Tokens": "depthlaw.models.language_model",
        "adopt": "depthlaw.models.load",
        "load_model": "depthlaw.models.load",
    },
)
