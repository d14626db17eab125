"""A language model from whatever a user names, and what a run records of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from depthlaw.errors import InputError, UsageError
from depthlaw.models.identity import hash_in_memory, hash_of_files
from depthlaw.models.language_model import LanguageModel
from depthlaw.models.load import adopt, load_model


class ModelSettings(Protocol):
    """What a config says of the model."""

    @property
    def revision(self) -> str | None:
        """Branch, tag or commit."""
        ...

    @property
    def dtype(self) -> str:
        """Of the weights."""
        ...

    @property
    def device(self) -> str:
        """Where to run."""
        ...


def language_model(model: Any, settings: ModelSettings) -> LanguageModel:
    """Return a checked language model with a tokenizer.

    Parameters
    ----------
    model
        What `load_model` takes, a `LanguageModel`, or a model of transformers that remembers its folder.

    Raises
    ------
    InputError
        When it cannot be loaded, fails a check, or has no tokenizer.
    UsageError
        When it is none of these.
    """
    if isinstance(model, LanguageModel):
        lm = model
    elif isinstance(model, str | Path):
        lm = load_model(model, revision=settings.revision, dtype=settings.dtype, device=settings.device)
    elif hasattr(model, "config") and hasattr(model, "get_input_embeddings"):
        from transformers import AutoTokenizer

        place = getattr(model.config, "_name_or_path", "")
        lm = adopt(model, AutoTokenizer.from_pretrained(place) if place else None, name=place or None)
    else:
        raise UsageError(
            f"a model cannot be made of {type(model).__name__}.",
            "Give an id, a folder, or a model of transformers.",
        )
    if lm.tokenizer is None:
        raise InputError(
            f"{lm.name} has no tokenizer.", "Put its files beside the model, or pass adopt(model, tokenizer)."
        )
    return lm


def identity_of_weights(lm: LanguageModel) -> dict[str, str | None]:
    """Return what tells the weights apart, without the place they lie in where a hash does better.

    Reads all of the files of a model that lies here, and all weights of one that is only in memory; asked
    only where a run folder is used.

    Raises
    ------
    InputError
        When a file or a weight cannot be read.
    """
    if lm.files:
        return {"weights": hash_of_files(lm.files)}
    if not lm.identity:
        return {"weights": hash_in_memory(lm)}
    return {"weights": lm.identity["weights"]} if lm.identity.get("weights") else lm.identity


def recorded(lm: LanguageModel) -> dict[str, Any]:
    """Return what a run folder records of a model besides its identity, as `open_run` takes it."""
    return {"device": str(lm.device), "dtype": lm.dtype_name, "model_commit": lm.identity.get("commit")}
