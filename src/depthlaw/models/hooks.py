"""Hooks on a model's own forward pass, and a promise to leave no trace of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from depthlaw.tensors.stack import Call, state_of

_HOOK_TABLES = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)
_LIBRARY_FLAG = "_output_capturing_hooks_installed"


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Evaluate ``model`` without gradients and leave it as it was: hooks and training mode of every module.

    Also takes away hooks that the model's library installs of its own accord during the block and never
    removes.
    """
    before = [
        (module, module.training, [dict(getattr(module, table)) for table in _HOOK_TABLES])
        for module in model.modules()
    ]
    flagged = [module for module in model.modules() if _LIBRARY_FLAG in vars(module)]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training, tables in before:
            module.training = training
            for name, table in zip(_HOOK_TABLES, tables, strict=True):
                current = getattr(module, name)
                if len(current) != len(table):
                    current.clear()
                    current.update(table)
            if _LIBRARY_FLAG in vars(module) and module not in flagged:
                delattr(module, _LIBRARY_FLAG)


@dataclass
class Recorder:
    """What the hooks of one forward pass saw.

    Attributes
    ----------
    states
        h_0 … h_depth, whatever ``pick`` kept of each.
    calls
        One `Call` a block.
    """

    pick: Callable[[Tensor], Tensor]
    states: list[Tensor] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


@contextmanager
def recording(blocks: Sequence[nn.Module], pick: Callable[[Tensor], Tensor] | None) -> Iterator[Recorder]:
    """Record the input of the first block, the output of each, and every block's other arguments.

    Parameters
    ----------
    pick
        What to keep of each state; must not return the tensor itself, which a later block may overwrite.
        ``None`` keeps copies.
    """
    recorder = Recorder(pick or torch.clone)

    def entering(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        state, call = split_call(block, args, kwargs)
        if not recorder.states:
            recorder.states.append(recorder.pick(state))
        recorder.calls.append(call)

    def leaving(block: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        recorder.states.append(recorder.pick(state_of(output)))

    with ExitStack() as hooks:
        for block in blocks:
            hooks.callback(block.register_forward_pre_hook(entering, with_kwargs=True).remove)
            hooks.callback(block.register_forward_hook(leaving).remove)
        yield recorder


@contextmanager
def editing_output(module: nn.Module, edit: Callable[[Tensor], Tensor] | None) -> Iterator[None]:
    """Replace what ``module`` returns by ``edit`` of it; ``None`` changes nothing."""
    if edit is None:
        yield
        return
    change = edit
    handle = module.register_forward_hook(lambda _module, _args, output: change(output))
    try:
        yield
    finally:
        handle.remove()


def split_call(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Call]:
    """Split a block's arguments into its state, which is the first parameter of its forward, and the rest.

    Raises
    ------
    TypeError
        When the first argument is no tensor.
    """
    rest = dict(kwargs)
    if args:
        state, args = args[0], args[1:]
    else:
        first = next(iter(inspect.signature(block.forward).parameters))
        state = rest.pop(first, None)
    if not isinstance(state, Tensor):
        raise TypeError(f"{type(block).__name__} was called without a state as its first argument")
    return state, Call(args, rest)
