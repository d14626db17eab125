"""A causal language model as a residual stack."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from depthlaw.errors import InputError
from depthlaw.models.hooks import editing_output, recording, untouched
from depthlaw.models.roles import Roles
from depthlaw.models.tail import Tail
from depthlaw.tensors.stack import Call, Trace, state_of

if TYPE_CHECKING:
    from depthlaw.models.checks import Checks


@dataclass(frozen=True)
class Tokens:
    """A batch of token ids, padded on either side.

    Attributes
    ----------
    ids
        (rows, positions) int64.
    mask
        (rows, positions) bool, true for real tokens; ``None`` when all are.
    """

    ids: Tensor
    mask: Tensor | None = None

    def positions(self) -> Tensor:
        """(rows, positions) int64: how many real tokens of its row come before a token."""
        if self.mask is None:
            return torch.arange(self.ids.shape[1], device=self.ids.device).expand_as(self.ids)
        return (self.mask.long().cumsum(-1) - 1).clamp(min=0)


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model, speaking the protocol of `depthlaw.tensors.stack.Stack`.

    Made by `depthlaw.models.load_model` or `depthlaw.models.adopt`, which check it.

    Attributes
    ----------
    name
        As the user named it.
    model
        The Hugging Face model.
    tokenizer
        Its tokenizer; ``None`` when there is none.
    roles
        Its parts.
    tail
        From its raw last state to its logits.
    checks
        What was found by running it on a few tokens.
    identity
        What tells its weights apart from others': id, revision, commit; empty where only the weights
        themselves do.
    files
        What it was loaded from, when it lies here: weights, config and tokenizer. Their content then tells it
        apart.
    """

    name: str
    model: nn.Module
    tokenizer: Any
    roles: Roles
    tail: Tail
    checks: Checks
    identity: dict[str, str | None]
    files: tuple[Path, ...] = ()

    @cached_property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The residual blocks, in order."""
        return tuple(self.model.get_submodule(self.roles.blocks))  # type: ignore[arg-type]

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @cached_property
    def width(self) -> int:
        """Width of the residual stream."""
        return self.checks.width

    @property
    def dtype(self) -> torch.dtype:
        """Of the states, as the model computes them."""
        return self.checks.dtype

    @property
    def dtype_name(self) -> str:
        """The same as people write it: ``bfloat16``."""
        return str(self.dtype).removeprefix("torch.")

    @property
    def context(self) -> int | None:
        """Positions the model was made for; ``None`` when its config does not say."""
        config: Any = getattr(self.model, "config", None)
        config = config.get_text_config() if hasattr(config, "get_text_config") else config
        known = [getattr(config, name, None) for name in ("max_position_embeddings", "max_seq_len")]
        return next((most for most in known if isinstance(most, int) and most > 0), None)

    @cached_property
    def device(self) -> torch.device:
        """Where token ids go: the device that the embedding computes on."""
        return self.checks.device

    def tokens(self, ids: Any, mask: Any = None) -> Tokens:
        """Put a batch (rows, positions) on the device; a mask that is true everywhere is dropped."""
        on_device = torch.as_tensor(ids, dtype=torch.int64).to(self.device)
        if mask is None:
            return Tokens(on_device)
        real = torch.as_tensor(mask, dtype=torch.bool)
        return Tokens(on_device, None if bool(real.all()) else real.to(self.device))

    def capture(
        self,
        inputs: Tokens,
        *,
        pick: Callable[[Tensor], Tensor] | None = None,
        edit_embedding: Callable[[Tensor], Tensor] | None = None,
    ) -> Trace:
        """Run the model's own forward pass without its head; see `Stack.capture`.

        ``pick`` must not return the state itself, which a later block may overwrite.

        Raises
        ------
        InputError
            For padding on the left with a model whose states it changes.
        """
        if inputs.mask is not None and self.checks.minds_left_padding and not bool(inputs.mask[:, 0].all()):
            raise InputError(
                f"{self.name}: padding on the left changes the states of real tokens in this model.",
                "Pad on the right.",
            )
        embedding = self.model.get_submodule(self.roles.embedding)
        with (
            untouched(self.model),
            editing_output(embedding, edit_embedding),
            recording(self.blocks, pick) as recorder,
        ):
            self._forward_base(inputs)
        return Trace(tuple(recorder.states), tuple(recorder.calls))

    def block(self, index: int, state: Tensor, call: Call) -> Tensor:
        """Run one block again, (rows, positions, width), with captured arguments."""
        with untouched(self.blocks[index]):
            return state_of(self.blocks[index](state, *call.args, **call.kwargs))

    def finish(self, state: Tensor) -> Tensor:
        """Raw last states (…, width) → logits (…, vocabulary)."""
        with torch.no_grad():
            flat = self.tail.logits(state.reshape(-1, state.shape[-1]))
        return flat.reshape(*state.shape[:-1], -1)

    def normed(self, state: Tensor) -> Tensor | None:
        """Raw last states (tokens, width) after the final norm; ``None`` for a model without one."""
        with torch.no_grad():
            return self.tail.normed(state)

    def logits(self, inputs: Tokens) -> Tensor:
        """(rows, positions, vocabulary) from the model's own forward pass, head included."""
        with untouched(self.model):
            output: Tensor = self.model(**_arguments(self.model, inputs)).logits
        return output

    def _forward_base(self, inputs: Tokens) -> None:
        base = base_of(self.model, self.roles)
        base(**_arguments(base, inputs))


def base_of(model: nn.Module, roles: Roles) -> nn.Module:
    """Return the part of ``model`` that holds the blocks but not the head; all of it when there is none."""
    path = roles.blocks
    base = model
    while "." in path:
        path = path.rpartition(".")[0]
        holder = model.get_submodule(path)
        if (
            not roles.head.startswith(f"{path}.")
            and "input_ids" in inspect.signature(holder.forward).parameters
        ):
            base = holder
    return base


def _arguments(module: nn.Module, inputs: Tokens) -> dict[str, Any]:
    taken = inspect.signature(module.forward).parameters
    arguments: dict[str, Any] = {"input_ids": inputs.ids, "use_cache": False}
    if inputs.mask is not None:
        arguments["attention_mask"] = inputs.mask.long()
        if "position_ids" in taken:
            arguments["position_ids"] = inputs.positions()
    return arguments
