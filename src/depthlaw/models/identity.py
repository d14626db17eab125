"""What tells a model's weights from any others: a hash of all that its results depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from depthlaw.errors import InputError, cannot_read

if TYPE_CHECKING:
    from depthlaw.models.language_model import LanguageModel

_PATTERNS = (
    "*.safetensors",
    "*.bin",
    "*.index.json",  # which of the files holds which weight
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
    "*.tiktoken",
)
_OF_NO_EFFECT = ("_name_or_path", "transformers_version")


def files_of(place: str, gguf: str | None) -> tuple[Path, ...]:
    """Return the files of weights, config and tokenizer of a model that lies here; none for one of the hub.

    None for an adapter either, whose files do not hold the weights that it adapts.

    Parameters
    ----------
    place, gguf
        As `depthlaw.models.load.locate` returns them. A GGUF file holds all three.
    """
    folder = Path(place)
    if (folder / "adapter_config.json").exists():
        return ()
    if gguf is not None:
        return (folder / gguf,)
    return tuple(sorted({path for pattern in _PATTERNS for path in folder.glob(pattern) if path.is_file()}))


def hash_of_files(files: Iterable[Path]) -> str:
    """SHA-256 of names and whole contents, hexadecimal.

    What was done to the weights after they were loaded is not in it.

    Raises
    ------
    InputError
        When a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in files:
        try:
            found = path.stat()
            content = _content(path.resolve(), found.st_size, found.st_mtime_ns)
        except OSError as error:
            raise cannot_read(path, error) from error
        digest.update(f"{path.name}\0{content}\0".encode())
    return digest.hexdigest()


@cache
def _content(path: Path, size: int, mtime_ns: int) -> str:
    """Hash a file, once as long as it is not written to.

    All of it: samples miss what is between them, and a zeroed matrix or two swapped blocks leave every size
    as it was. At one to two GB a second this takes about as long as reading the weights did.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_in_memory(lm: LanguageModel) -> str:
    """SHA-256 of class, settings, parameters, buffers and tokenizer, hexadecimal.

    What a forward pass or a tokenizer of one's own does beyond these is not in it.

    Raises
    ------
    InputError
        When a weight cannot be read.
    """
    config: Any = lm.model.config
    settings = dict(config.to_dict() if hasattr(config, "to_dict") else vars(config))
    for name in _OF_NO_EFFECT:
        settings.pop(name, None)
    said = [type(lm.model).__qualname__, settings, _tokenizer(lm.tokenizer)]
    digest = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode())
    try:
        for name, tensor in _tensors(lm.model):
            digest.update(f"\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
            # One at a time: they may be larger together than the memory here.
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise InputError(
            f"{lm.name}: {name} cannot be read, so that its weights have no hash.",
            'Name them yourself: adopt(model, tokenizer, identity={"weights": "what tells them apart"}).',
        ) from error
    return digest.hexdigest()


def _tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters and buffers by name; offloaded ones are fetched module by module."""
    for path, module in model.named_modules():
        with _fetched(module):
            for name, tensor in module.named_parameters(path, recurse=False):
                yield name, tensor
            for name, tensor in module.named_buffers(path, recurse=False):
                yield name, tensor


def _fetched(module: nn.Module) -> Any:
    away = any(parameter.is_meta for parameter in module.parameters(recurse=False))
    if not away or not hasattr(module, "_hf_hook"):
        return nullcontext()
    # Only accelerate keeps weights elsewhere and leaves such a hook; it has no types.
    return import_module("accelerate.utils").align_module_device(module, torch.device("cpu"))


def _tokenizer(tokenizer: Any) -> Any:
    """Return what decides the ids that a tokenizer gives, as far as it can be known."""
    marks = [getattr(tokenizer, f"{kind}_token_id", None) for kind in ("bos", "eos", "pad")]
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if hasattr(backend, "to_str"):
        rules = json.loads(backend.to_str())
        # These change with every call.
        return [marks, {name: rule for name, rule in rules.items() if name not in ("truncation", "padding")}]
    known = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    return [marks, type(tokenizer).__qualname__, known]
