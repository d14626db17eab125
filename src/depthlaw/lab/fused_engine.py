"""The engine on the compiled CPU kernel (`depthlaw.tensors.fused`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from depthlaw.lab.config import LabConfig
from depthlaw.lab.engine import Array, StudentKey, thread_count
from depthlaw.lab.networks import Network
from depthlaw.tensors import fused


class FusedEngine:
    """See `depthlaw.lab.engine.Engine`; made as `depthlaw.lab.torch_engine.TorchEngine` is."""

    name = "fused"

    def __init__(
        self, config: LabConfig, teacher: Network, keys: Sequence[StudentKey], students: Sequence[Network]
    ) -> None:
        self._keys = list(keys)
        self._dtype = np.dtype(config.dtype)
        self._threads = thread_count(config)
        self._teacher = fused.Net(**teacher.as_dict())
        self._nets = [fused.Net(**{n: a.copy() for n, a in net.as_dict().items()}) for net in students]
        self._grads = [_zeros(net, head=config.head == "learned") for net in self._nets]
        self._first = [_zeros(grad) for grad in self._grads]
        self._second = [_zeros(grad) for grad in self._grads]
        self._temperatures = None
        if config.loss == "kl":
            both = config.temperature_of == "both"
            values = [key.temperature or 1.0 for key in keys]
            self._temperatures = [(value, value if both else 1.0) for value in values]
        self._steps = 0

    def _target(self, x: NDArray[np.float32]) -> tuple[Array, Array]:
        """Return the batch in the engine's dtype, and what the teacher makes of it."""
        batch = np.ascontiguousarray(x, self._dtype)
        return batch, fused.forward(self._teacher, batch, threads=self._threads)

    def _evaluate(
        self, x: NDArray[np.float32], which: Sequence[int], *, gradients: bool
    ) -> NDArray[np.float64]:
        batch, target = self._target(x)
        found = np.full(len(self._keys), np.nan)
        if which:
            found[which] = fused.loss_and_grad(
                [self._nets[at] for at in which],
                batch,
                target,
                [self._grads[at] for at in which] if gradients else None,
                temperatures=None if self._temperatures is None else [self._temperatures[at] for at in which],
                threads=self._threads,
            )
        return found

    def losses(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """See `Engine.losses`."""
        return self._evaluate(x, range(len(self._keys)), gradients=False)

    def train(
        self, x: NDArray[np.float32], rates: Sequence[float], alive: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """See `Engine.train`."""
        found = self._evaluate(x, np.flatnonzero(alive).tolist(), gradients=True)
        self._steps += 1
        going_on = np.flatnonzero(alive & np.isfinite(found)).tolist()
        lists: list[list[Array]] = [[], [], [], []]
        for at in going_on:
            for name in _names(self._grads[at]):
                sources = (self._nets[at], self._grads[at], self._first[at], self._second[at])
                for into, source in zip(lists, sources, strict=True):
                    into.append(getattr(source, name))
        counts = [len(_names(self._grads[at])) for at in going_on]
        lr = [rates[at] for at, count in zip(going_on, counts, strict=True) for _ in range(count)]
        if going_on:
            fused.adam(*lists, step=self._steps, lr=lr, threads=self._threads)
        return found

    def networks(self) -> list[Network]:
        """See `Engine.networks`."""
        return [Network(net.A.copy(), net.b.copy(), net.B.copy(), _copy(net.head)) for net in self._nets]

    def state(self) -> dict[str, Array]:
        """See `Engine.state`."""
        state: dict[str, Array] = {"adam.steps": np.array([self._steps], np.float64)}
        for place, array in self._places():
            state[place] = array.copy()
        return state

    def load_state(self, state: Mapping[str, Array]) -> None:
        """See `Engine.load_state`."""
        self._steps = int(state["adam.steps"][0])
        for place, array in self._places():
            array[...] = state[place]

    def _places(self) -> list[tuple[str, Array]]:
        """Name every array that changes, as `TorchEngine` does, so that either can go on from the other."""
        found = []
        for at, key in enumerate(self._keys):
            for name in _names(self._grads[at]):
                place = f"{key.name}.{name}"
                found.append((place, getattr(self._nets[at], name)))
                found.append((f"{place}.exp_avg", getattr(self._first[at], name)))
                found.append((f"{place}.exp_avg_sq", getattr(self._second[at], name)))
        return found


def _names(grads: fused.Net) -> tuple[str, ...]:
    return ("A", "b", "B") if grads.head is None else ("A", "b", "B", "head")


def _zeros(net: fused.Net, *, head: bool = True) -> fused.Net:
    return fused.Net(
        np.zeros_like(net.A),
        np.zeros_like(net.b),
        np.zeros_like(net.B),
        np.zeros_like(net.head) if head and net.head is not None else None,
    )


def _copy(array: Array | None) -> Array | None:
    return None if array is None else array.copy()
