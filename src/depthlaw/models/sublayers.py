"""Attention and MLP inside the blocks of a language model, found by watching a block run twice.

No names of families are known here. Attention is the child of a block whose output at a token moves when only
an earlier token was moved; the MLP is the last child with matrices that runs after it. Where a child is given
the residual stream and adds it itself (BLOOM, MPT), what it adds to is looked for inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from depthlaw.errors import InputError
from depthlaw.models.checks import check_tokens, difference
from depthlaw.models.hooks import split_call, untouched
from depthlaw.tensors.stack import Call, state_of

if TYPE_CHECKING:
    from depthlaw.models.language_model import LanguageModel

_SAME = 1e-4


@dataclass(frozen=True)
class Sublayers:
    """Paths within a block, the same in every block, of the modules whose outputs are added to the stream.

    Attributes
    ----------
    attention, mlp
        Such as ``self_attn`` and ``mlp``.
    """

    attention: str
    mlp: str


@dataclass(frozen=True)
class _Run:
    """One module's run: its first argument, its other tensors, and what it returned."""

    name: str
    module: nn.Module
    state: Tensor
    others: tuple[Tensor, ...]
    output: Tensor


def find_sublayers(lm: LanguageModel) -> Sublayers:
    """Find attention and MLP of a model's blocks.

    Raises
    ------
    InputError
        When the blocks have no such parts of their own, or not all the same.
    """
    ids = check_tokens(lm.model).to(lm.device)
    trace = lm.capture(lm.tokens(ids))
    state = trace.states[0]
    moved = state.clone()
    moved[:, -2] = -moved[:, -2]
    first, second = (_watch(lm, x.clone(), trace.calls[0]) for x in (state, moved))
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a.output.numel() == state.numel()]
    children = [(a, b) for a, b in pairs if "." not in a.name and a.name]
    mixing = [a for a, b in children if _same(a.state, b.state) and not _same(a.output, b.output)]
    after = [a for a, _ in children if a not in mixing and any(p.dim() >= 2 for p in a.module.parameters())]
    if len(mixing) != 1 or not after:
        raise InputError(
            f"{lm.name}: its blocks have no attention and MLP that can be told apart.",
            "Restore block outputs.",
        )
    paths = [_inside(run, first) for run in (mixing[0], after[-1])]
    for other in lm.blocks:
        names = dict(other.named_modules())
        if missing := [path for path in paths if path not in names]:
            raise InputError(f"{lm.name}: not every block has a {missing[0]}.", "Restore block outputs.")
    return Sublayers(*paths)


def replaced_state(output: Any, state: Tensor) -> Any:
    """What a module returned, with its state (the tensor itself or the first of a tuple or list) replaced."""
    if isinstance(output, Tensor):
        return state
    if isinstance(output, tuple | list):
        return type(output)([state, *output[1:]])
    raise TypeError(f"a module returned {type(output).__name__} where a state should be")


def _watch(lm: LanguageModel, state: Tensor, call: Call) -> list[_Run]:
    """Run the first block and watch its modules."""
    runs: list[_Run] = []
    block = lm.blocks[0]

    def leaving(
        name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> None:
        try:
            state, rest = split_call(module, args, kwargs)
            output = state_of(out)
        except (TypeError, StopIteration, ValueError):
            return
        others = tuple(x.clone() for x in (*rest.args, *rest.kwargs.values()) if isinstance(x, Tensor))
        runs.append(_Run(name, module, state.clone(), others, output.clone()))

    with untouched(block), ExitStack() as hooks:
        for name, module in block.named_modules():
            hook = module.register_forward_hook(
                lambda module, args, kwargs, out, name=name: leaving(name, module, args, kwargs, out),
                with_kwargs=True,
            )
            hooks.callback(hook.remove)
        lm.block(0, state, call)
    return runs


def _same(a: Tensor, b: Tensor) -> bool:
    """Whether two records agree at the last token."""
    return difference(a.reshape(-1, a.shape[-1])[-1], b.reshape(-1, b.shape[-1])[-1]) <= _SAME


def _inside(run: _Run, runs: Sequence[_Run]) -> str:
    """Return the module whose output is added to the stream: ``run``'s own, or one within it."""
    for residual in (x for x in run.others if x.numel() == run.output.numel() and x.is_floating_point()):
        for inner in reversed(runs):
            if inner.name.startswith(f"{run.name}.") and inner.output.numel() == run.output.numel():
                whole = inner.output.reshape(run.output.shape) + residual.reshape(run.output.shape)
                if difference(whole, run.output) <= 1e-3:
                    return inner.name
    return run.name


def editing(module: nn.Module, edit: Callable[[Tensor], Tensor]) -> torch.utils.hooks.RemovableHandle:
    """Replace the state that ``module`` returns by ``edit`` of it until the handle is removed."""
    return module.register_forward_hook(lambda _m, _a, out: replaced_state(out, edit(state_of(out))))
