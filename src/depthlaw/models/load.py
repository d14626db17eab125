"""Loading a causal language model by id, folder or GGUF file, and refusing one that cannot be measured."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from depthlaw.errors import DepthlawError, InputError, UsageError, no_such_file, unknown_name
from depthlaw.models.checks import TOKENS, Checks, check, check_tokens
from depthlaw.models.identity import files_of
from depthlaw.models.language_model import LanguageModel
from depthlaw.models.pretrained import MODEL_IS, from_pretrained
from depthlaw.models.roles import Observation, Roles, find_roles, observe
from depthlaw.models.tail import learn_tail
from depthlaw.places import model_folders

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
}
_CONFIGS = ("config.json", "adapter_config.json")


def load_model(
    model: str | os.PathLike[str],
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    device_map: Any = None,
    roles: Roles | None = None,
) -> LanguageModel:
    """Load a causal language model and check that it can be measured.

    Parameters
    ----------
    model
        A folder, a GGUF file, the name of a folder in ``$DEPTHLAW_MODELS`` or in ``models`` of
        ``$DEPTHLAW_CACHE``, or a model id of the hub.
    revision
        Branch, tag or commit on the hub; refused for what lies here.
    dtype
        ``auto`` takes the dtype of the stored weights; else ``float32``, ``bfloat16``, ``float16`` or
        ``float64``.
    device
        ``auto`` takes an accelerator when there is one; else a torch device.
    device_map
        As transformers takes it, to spread the model over devices (needs accelerate); excludes ``device``.
    roles
        Its parts, for a layout that is not recognised.

    Raises
    ------
    InputError
        When it cannot be loaded, its files lack weights or hold those of other blocks, its layout is not
        recognised, or a check fails.
    UsageError
        For an unknown dtype or device.
    """
    name = os.fspath(model)
    if device_map is not None and device != "auto":
        raise UsageError("device and device_map exclude each other.", "Leave one of them out.")
    where = None if device_map is not None else _device(device)
    loaded, tokenizer = load_weights(name, revision=revision, dtype=dtype, device_map=device_map)
    if where is not None:
        loaded = loaded.to(where)
    place, gguf = locate(name)
    commit = getattr(loaded.config, "_commit_hash", None)
    files = files_of(place, gguf)
    identity = {"model": name, "revision": revision, "commit": commit, "weights": None}
    # The commit of an adapter that lies here would be that of the model it adapts.
    known = bool(files) or (commit is not None and not Path(place).exists())
    lm = adopt(loaded, tokenizer, name=name, roles=roles, identity=identity if known else None)
    return dataclasses.replace(lm, files=files)


def load_weights(
    name: str, *, revision: str | None = None, dtype: str = "auto", device_map: Any = None
) -> tuple[nn.Module, Any]:
    """Load model and tokenizer with transformers, unchecked; as `load_model` takes them.

    Raises
    ------
    InputError
        When they cannot be loaded.
    UsageError
        For an unknown dtype, or a revision of what lies here.
    """
    arguments: dict[str, Any] = {"dtype": _dtype(dtype)}
    place, gguf = locate(name)
    if revision is not None and Path(place).exists():
        raise UsageError(
            f"revision {revision} chooses a version on the hub, and {name} is a folder here.", "Leave it out."
        )
    for key, value in (("revision", revision), ("gguf_file", gguf), ("device_map", device_map)):
        if value is not None:
            arguments[key] = value
    return from_pretrained(name, place, arguments)


def adopt(
    model: nn.Module,
    tokenizer: Any = None,
    *,
    name: str | None = None,
    roles: Roles | None = None,
    identity: dict[str, str | None] | None = None,
) -> LanguageModel:
    """Take a causal language model that is already in memory, and check that it can be measured.

    Parameters
    ----------
    model
        With the calling convention of transformers; is left as it was.
    tokenizer
        Callable as those of transformers are; ``None`` when only token ids will be given.
    name
        What to call it; ``None`` takes the class's name.
    roles
        Its parts; ``None`` finds them.
    identity
        Stored with results to tell its weights from others'; ``None`` takes a hash of what is in memory.

    Raises
    ------
    InputError
        When its layout is not recognised, or a check fails.
    """
    name = name or type(model).__name__
    try:
        device = _compute_device(model.get_input_embeddings())  # type: ignore[operator]
        ids = check_tokens(model).to(device)
        seen = observe(model, ids)
        roles = roles or find_roles(model, seen, _config_depth(model))
        tail = learn_tail(model, roles, seen, ids)
        lm = LanguageModel(
            name, model, tokenizer, roles, tail, _first_look(model, roles, seen, device), identity or {}
        )
        return dataclasses.replace(lm, checks=check(lm, seen, ids))
    except DepthlawError:
        raise
    except (RuntimeError, TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"{name}: the model fails on {TOKENS} tokens: {line}") from error


def locate(name: str) -> tuple[str, str | None]:
    """Return what transformers is given for ``name``: a folder or id, and the name of a GGUF file in it.

    Raises
    ------
    InputError
        When it is a file or folder that holds no model; an id of the hub is not looked up here.
    """
    path = Path(name)
    if not path.exists():
        path = next((root / name for root in model_folders() if (root / name).exists()), path)
    if path.suffix == ".gguf" and (path.is_file() or not path.exists()):
        if not path.exists():
            raise no_such_file(name)
        return str(path.parent), path.name
    if path.is_file():
        raise InputError(f"{name}: is a file, and no model.", MODEL_IS)
    if path.is_dir() and not any((path / config).is_file() for config in _CONFIGS):
        raise InputError(f"{name}: this folder holds no model (no {_CONFIGS[0]}).", MODEL_IS)
    return (str(path) if path.exists() else name), None


def _dtype(name: str) -> Any:
    if name == "auto" or name in DTYPES:
        return DTYPES.get(name, "auto")
    raise UsageError(f'dtype "{name}" is not one of auto, {", ".join(DTYPES)}.')


def _device(name: str) -> torch.device:
    here = [torch.device("cpu")]
    if torch.accelerator.is_available():
        here.insert(0, torch.device(torch.accelerator.current_accelerator() or "cpu"))
    if name == "auto":
        return here[0]
    try:
        found = torch.device(name)
    except RuntimeError:
        raise UsageError(
            f'device "{name}" is not known to torch.', "auto, cpu, cuda, cuda:1, mps …"
        ) from None
    have = [device.type for device in here]
    count = 1 if found.type == "cpu" else torch.accelerator.device_count()
    if found.type not in have or (found.index or 0) >= count:
        raise unknown_name("device", name, have, flag="--device")
    return found


def _config_depth(model: nn.Module) -> int | None:
    config = model.config.get_text_config()  # type: ignore[operator, union-attr]
    return getattr(config, "num_hidden_layers", None)


def _compute_device(embedding: nn.Module) -> torch.device:
    """Return where a module computes: offloaded weights live on no device between calls."""
    device = next(embedding.parameters()).device
    hook = getattr(embedding, "_hf_hook", None)
    if device.type == "meta" and hook is not None:
        return torch.device(hook.execution_device)
    return device


def _first_look(model: nn.Module, roles: Roles, seen: Observation, device: torch.device) -> Checks:
    blocks = model.get_submodule(roles.blocks)
    (last,) = seen.of(blocks[-1])  # type: ignore[index]
    if last.output is None:
        raise InputError(f"{roles.blocks}: the last block returns no state.")
    return Checks(len(blocks), last.output.shape[-1], last.output.dtype, device)  # type: ignore[arg-type]
