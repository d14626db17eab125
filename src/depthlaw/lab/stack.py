"""A laboratory network in the one protocol of residual stacks, so that layer plans and traces run on it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from depthlaw.lab.networks import Network
from depthlaw.numerics.runge_kutta import RESIDUAL, Tableau
from depthlaw.tensors.residual_mlp import block, rms_norm
from depthlaw.tensors.stack import Call, Trace


class StudentStack:
    """See `depthlaw.tensors.stack.Stack`; inputs are (rows, positions, width), positions being samples.

    Parameters
    ----------
    network
        A student or a teacher; its weights are copied.
    tableau
        How the stages of a block are put together.
    """

    def __init__(self, network: Network, tableau: Tableau = RESIDUAL) -> None:
        self._A, self._b, self._B = (torch.tensor(array) for array in (network.A, network.b, network.B))
        self._head = None if network.head is None else torch.tensor(network.head)
        self._tableau = tableau

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return len(self._A)

    @torch.no_grad()
    def capture(
        self,
        inputs: Tensor,
        *,
        pick: Callable[[Tensor], Tensor] | None = None,
        edit_embedding: Callable[[Tensor], Tensor] | None = None,
    ) -> Trace:
        """See `Stack.capture`; the embedding is the first RMSNorm."""
        keep = pick or (lambda state: state)
        state = rms_norm(inputs.to(self._A.dtype))
        state = state if edit_embedding is None else edit_embedding(state)
        states = [keep(state)]
        calls = tuple(Call() for _ in range(self.depth))
        for index, call in enumerate(calls):
            state = self.block(index, state, call)
            states.append(keep(state))
        return Trace(tuple(states), calls)

    @torch.no_grad()
    def block(self, index: int, state: Tensor, call: Call) -> Tensor:
        """See `Stack.block`; a block of the laboratory is called with the state alone."""
        return block(state, self._A[index], self._b[index], self._B[index], self._tableau)

    @torch.no_grad()
    def finish(self, state: Tensor) -> Tensor:
        """See `Stack.finish`: the normalised state, or logits for a network with a head."""
        normed = rms_norm(state)
        return normed if self._head is None else normed @ self._head.T
