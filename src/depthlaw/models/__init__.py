"""Causal language models as residual stacks: loaded, their parts found from structure, checked by numbers."""

from depthlaw.models.language_model import LanguageModel, Tokens
from depthlaw.models.load import adopt, load_model
from depthlaw.models.roles import Roles

__all__ = ["LanguageModel", "Roles", "Tokens", "adopt", "load_model"]
