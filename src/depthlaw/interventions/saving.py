"""A plan as a model of its own: weights copied block by block, config consistent, loaded again, checked."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from depthlaw.errors import DepthlawError, InputError, OutputError, UsageError, cannot_write
from depthlaw.interventions.execution import run_plan
from depthlaw.interventions.plan import Plan
from depthlaw.models import LanguageModel, load_model
from depthlaw.models.checks import check_tokens, difference
from depthlaw.models.pretrained import quiet
from depthlaw.models.writing import new_folder

_TOKENS = 24


def save_plan(lm: LanguageModel, plan: Plan, folder: str | Path) -> Path:
    """Save the model that a plan describes, with the tokenizer, and check what was saved.

    Blocks that run twice are stored twice. Settings that the config keeps a block (attention kinds, say) go
    along with their blocks.

    Parameters
    ----------
    folder
        Where to; must not exist or be empty. Appears only when it is complete and checked.

    Returns
    -------
    Path
        ``folder``.

    Raises
    ------
    InputError
        When the saved model does not compute what the plan computes: its family cannot express it.
    OutputError
        When the folder cannot be written, or is not empty.
    UsageError
        For blocks side by side.
    """
    if not plan.sequential:
        raise UsageError(f'plan "{plan.name}" runs blocks side by side; no saved model can do that.')
    target = refuse_full(folder)
    with new_folder(target) as temporary:
        rebuilt = rebuild(lm, plan.executed)
        with quiet():
            rebuilt.save_pretrained(temporary, safe_serialization=True)
        if lm.tokenizer is not None:
            lm.tokenizer.save_pretrained(temporary)
        gap = saved_difference(lm, plan, temporary)
        if not gap <= lm.checks.tolerance:
            raise InputError(
                f"{lm.name}: saved without blocks, the model computes something else than the plan "
                f"(relative difference {gap:.1e}).",
                "This family's config cannot express the plan; use the plan itself.",
            )
    return target


def refuse_full(folder: str | Path) -> Path:
    """Return a folder to save in.

    Raises
    ------
    OutputError
        When there is something in it; better said before hours of measuring than after.
    """
    target = Path(folder)
    try:
        full = target.exists() and (not target.is_dir() or any(target.iterdir()))
    except OSError as error:
        raise cannot_write(target, error) from error
    if full:
        raise OutputError(f"{target} is not an empty folder.", "Choose another one to save the model in.")
    return target


def rebuild(lm: LanguageModel, blocks: Sequence[int]) -> Any:
    """Return a fresh model of the family with these blocks, by copying weights; the old one is left alone.

    Raises
    ------
    InputError
        When the family's config has no number of blocks, or the weights do not fit.
    """
    source: Any = lm.model
    config = shortened(source.config, lm.depth, blocks)
    prefix = f"{lm.roles.blocks}."
    weights: dict[str, Tensor] = {}
    for name, value in source.state_dict().items():
        if not name.startswith(prefix):
            weights[name] = value
            continue
        number, _, rest = name[len(prefix) :].partition(".")
        for place, block in enumerate(blocks):
            if block == int(number):
                weights[f"{prefix}{place}.{rest}"] = value
    try:
        rebuilt = type(source)(config).to(lm.dtype)
        rebuilt.load_state_dict(weights, strict=True)
    except (RuntimeError, ValueError, TypeError, KeyError) as error:
        line = " ".join(str(error).split())[:200]
        raise InputError(f"{lm.name}: a model of {len(blocks)} blocks cannot be made: {line}") from error
    rebuilt.generation_config = getattr(source, "generation_config", None)
    return rebuilt.eval()


def shortened(config: Any, depth: int, blocks: Sequence[int]) -> Any:
    """Return a copy of a config for these blocks: their number, and every list with an entry a block."""
    new = copy.deepcopy(config)
    text = new.get_text_config() if hasattr(new, "get_text_config") else new
    for name, value in list(vars(text).items()):
        if isinstance(value, list | tuple) and len(value) == depth:
            setattr(text, name, type(value)(value[block] for block in blocks))
    text.num_hidden_layers = len(blocks)
    return new


@torch.no_grad()
def saved_difference(lm: LanguageModel, plan: Plan, folder: Path) -> float:
    """Relative difference of the logits of a saved model from those of the plan, on a few tokens."""
    try:
        saved = load_model(folder, dtype=lm.dtype_name, device="cpu")
    except DepthlawError as error:
        raise InputError(f"{lm.name}: the saved model cannot be loaded: {error.message}") from error
    ids = check_tokens(lm.model, _TOKENS)
    expected = run_plan(lm, lm.tokens(ids), plan)
    return difference(saved.logits(saved.tokens(ids)).to(expected.device), expected)
