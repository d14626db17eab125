"""The one protocol of a residual stack: embed, blocks, finish; and what can be done with any such stack.

A language model speaks it (`depthlaw.models`) and so can a laboratory student. State ``h_0`` is the input of
the first block and ``h_{b+1}`` the output of block ``b``; ``h_depth`` is the raw last state, before any final
norm. A *call* holds what a block was given besides the state (masks, rotary tables), so that any block can be
run again on another state exactly as the model itself would run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

Inputs = TypeVar("Inputs", contravariant=True)

Edit = Callable[[int, Tensor], Tensor]
"""Given ``l`` and a state, the state to go on with; ``l`` counts the blocks already run."""


@dataclass(frozen=True)
class Call:
    """What one block was called with besides the state.

    Attributes
    ----------
    args
        Positional arguments after the state.
    kwargs
        Keyword arguments; never the state.
    """

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trace:
    """What one ordinary forward pass leaves behind.

    Attributes
    ----------
    states
        ``depth + 1`` tensors h_0 … h_depth, (rows, positions, width) in the model's dtype, or what ``pick``
        made of them.
    calls
        One `Call` a block.
    """

    states: tuple[Tensor, ...]
    calls: tuple[Call, ...]


class Stack(Protocol[Inputs]):
    """Embed, blocks, finish."""

    @property
    def depth(self) -> int:
        """Number of blocks."""
        ...

    def capture(
        self,
        inputs: Inputs,
        *,
        pick: Callable[[Tensor], Tensor] | None = None,
        edit_embedding: Callable[[Tensor], Tensor] | None = None,
    ) -> Trace:
        """Run the network's own forward pass up to the raw last state.

        Parameters
        ----------
        pick
            What to keep of each state (the real tokens, say); ``None`` keeps copies of all of it.
        edit_embedding
            Replaces the output of the embedding before anything is added to it (noise on the subject, say).
        """
        ...

    def block(self, index: int, state: Tensor, call: Call) -> Tensor:
        """Run one block on (rows, positions, width), with the arguments of ``call``."""
        ...

    def finish(self, state: Tensor) -> Tensor:
        """Turn raw last states (…, width) into the network's output (…, outputs), token by token."""
        ...


def run_blocks(
    stack: Stack[Any],
    state: Tensor,
    calls: Sequence[Call],
    order: Iterable[int] | None = None,
    *,
    edit: Edit | None = None,
) -> Tensor:
    """Run blocks in a given order, each with its own captured arguments.

    Parameters
    ----------
    state
        (rows, positions, width) input of the first block that is run; rows and positions as in the captured
        pass.
    calls
        One a block of the stack, from `Stack.capture`.
    order
        Block numbers from 0, with repeats or gaps as wished; ``None`` runs all, in their own order.
    edit
        Sees ``(0, state)`` before the first block and ``(n, state)`` after the ``n``-th that was run, and
        returns the state to go on with.

    Returns
    -------
    Tensor
        (rows, positions, width) output of the last block that was run.

    Raises
    ------
    IndexError
        For a block that does not exist; nothing has been run then.
    """
    order = list(range(stack.depth) if order is None else order)
    if wrong := [index for index in order if not 0 <= index < stack.depth]:
        raise IndexError(f"no block {wrong[0]}: the stack has blocks 0 … {stack.depth - 1}")
    change = edit or (lambda _, unchanged: unchanged)
    state = change(0, state)
    for count, index in enumerate(order, 1):
        state = change(count, stack.block(index, state, calls[index]))
    return state


def run_from(
    stack: Stack[Any], trace: Trace, layer: int, state: Tensor | None = None, *, edit: Edit | None = None
) -> Tensor:
    """Run only the blocks above ``h_layer`` and return the raw last state.

    Parameters
    ----------
    layer
        From 0 (all blocks run) to depth (none does).
    state
        (rows, positions, width) to use as h_layer; ``None`` takes the captured one.
    edit
        As in `run_blocks`, but called with the number of the state: ``layer`` before the first block.
    """
    state = trace.states[layer] if state is None else state
    renumbered: Edit | None = None
    if edit is not None:
        change = edit
        renumbered = lambda count, passing: change(layer + count, passing)  # noqa: E731
    return run_blocks(stack, state, trace.calls, range(layer, stack.depth), edit=renumbered)


@dataclass(frozen=True)
class Patch:
    """An `Edit` that writes given values into one state at some positions.

    Attributes
    ----------
    layer
        Which state: 0 is the input of the first block, ``b + 1`` the output of block ``b``.
    positions
        Positions to overwrite, the same in every row.
    values
        (rows or 1, len(positions), width).
    """

    layer: int
    positions: tuple[int, ...]
    values: Tensor

    def __call__(self, layer: int, state: Tensor) -> Tensor:
        """Return ``state``, or a patched copy of it when ``layer`` is the one."""
        if layer != self.layer:
            return state
        patched = state.clone()
        patched[:, list(self.positions)] = self.values.to(state)
        return patched


def patched(*patches: Patch) -> Edit:
    """Combine patches into one `Edit`, applied in the order given."""

    def edit(layer: int, state: Tensor) -> Tensor:
        for patch in patches:
            state = patch(layer, state)
        return state

    return edit


def state_of(output: Any) -> Tensor:
    """Return the state in what a block returned: the tensor itself, or the first of a tuple, list or mapping.

    Raises
    ------
    TypeError
        When there is no tensor where the state should be.
    """
    if isinstance(output, Mapping):
        output = next(iter(output.values()), None)
    elif isinstance(output, tuple | list):
        output = output[0] if output else None
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"a block returned {type(output).__name__} where its state should be")
    return output
