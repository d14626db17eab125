"""Weights and tokenizer as transformers loads them, refused unless every weight of the model was read."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from depthlaw.errors import InputError, did_you_mean
from depthlaw.hub import why_not_reachable
from depthlaw.places import model_folders

MODEL_IS = "A model is its folder, a .gguf file, a name in $DEPTHLAW_MODELS or a model id of the hub."
_NOT_WEIGHTS = re.compile(r"inv_freq|causal_mask|masked_bias|(attn|attention)\.bias$")
"""Tables and masks that old files keep inside blocks; new code computes them."""
_SHOWN = 3


def from_pretrained(name: str, place: str, arguments: Mapping[str, Any]) -> tuple[nn.Module, Any]:
    """Load model and tokenizer.

    Parameters
    ----------
    name
        The model as the user named it, for errors.
    place
        Its folder, or its id on the hub, which is asked only when it answers within seconds.
    arguments
        For the model; ``revision`` and ``gguf_file`` go to the tokenizer too.

    Raises
    ------
    InputError
        When they cannot be loaded, or the weights are not those that the config describes.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise InputError(
            "language models need transformers.", 'Install it with: pip install "depthlaw[llm]"'
        ) from None
    kept = {key: arguments[key] for key in ("revision", "gguf_file") if key in arguments}
    # Asking transformers for what it cannot reach takes it half a minute of retries.
    away = "" if Path(place).exists() else why_not_reachable()
    kept |= {"local_files_only": True} if away else {}
    loaded: nn.Module
    found: Mapping[str, Iterable[str]]
    try:
        with quiet():
            loaded, found = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]
                place, trust_remote_code=False, output_loading_info=True, **{**arguments, **kept}
            )
    except ImportError as error:
        # Quantised weights and device maps need libraries of their own.
        raise InputError(
            f"{name}: {_line(error)}", "Install that library, or name unquantised weights."
        ) from error
    except Exception as error:
        # Damaged files make the libraries that read them raise errors of every class.
        reason = f"it is not on this machine, and {away}" if away else _line(error)
        raise InputError(f"{name}: the model cannot be loaded: {reason}", _advice(name)) from error
    refuse_other_weights(name, loaded, found)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False, **kept)
    except (OSError, ValueError, ImportError, KeyError, TypeError):
        # Token ids can be given directly; who needs the tokenizer says so.
        tokenizer = None
    return loaded, tokenizer


def refuse_other_weights(name: str, model: nn.Module, found: Mapping[str, Iterable[str]]) -> None:
    """Refuse weights that are not those of the model, which transformers would replace by random ones.

    Parameters
    ----------
    found
        Its loading info: ``missing_keys`` (without tied weights and what it can compute) and
        ``unexpected_keys``. Of the latter only those of blocks matter: other heads may be left unused.

    Raises
    ------
    InputError
        Naming the first of them.
    """
    blocks = tuple(f"{path}." for path, part in model.named_modules() if isinstance(part, nn.ModuleList))
    unused = [
        key
        for key in found.get("unexpected_keys", ())
        if any(re.match(rf"{re.escape(path)}\d+\.", key) for path in blocks) and not _NOT_WEIGHTS.search(key)
    ]
    for keys, said in (
        (found.get("missing_keys", ()), "the files lack {} of the model's weights"),
        (unused, "the files hold {} weights of blocks that the model does not have"),
    ):
        known = sorted(keys, key=_by_number)
        if known:
            shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
            raise InputError(
                f"{name}: {said.format(len(known))} ({shown}).",
                "config.json must describe these weights, and the model be one that predicts the next token.",
            )


def _by_number(key: str) -> list[tuple[int, str]]:
    """Order names as people count: block 9 before block 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in key.split(".")]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' bars off anything but a terminal, and its report of keys, which are checked here."""
    from transformers.utils import logging as library

    def not_the_report(record: logging.LogRecord) -> bool:
        return "LOAD REPORT" not in record.getMessage()

    bars = not sys.stderr.isatty() and library.is_progress_bar_enabled()
    writers = library.get_logger("transformers").handlers
    for writer in writers:
        writer.addFilter(not_the_report)
    if bars:
        library.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if bars:
            library.enable_progress_bar()  # type: ignore[no-untyped-call]
        for writer in writers:
            writer.removeFilter(not_the_report)


def _advice(name: str) -> str:
    known = [path.name for root in model_folders() if root.is_dir() for path in root.iterdir()]
    near = did_you_mean(name, known)
    return MODEL_IS if near is None else f"Did you mean {near}?"


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 240 else f"{text[:239]}…"
