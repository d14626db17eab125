"""The engine that runs anywhere: students stacked into batched products, on the CPU or an accelerator.

On a CPU the students of one temperature make a stack (more would leave the cache); on an accelerator all
students of the task do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from depthlaw.lab.config import LabConfig
from depthlaw.lab.engine import Array, StudentKey, find_device, thread_count
from depthlaw.lab.losses import kl, mse
from depthlaw.lab.networks import Network
from depthlaw.lab.stacked import Kept, Stack, backward, forward, rms_norm, rms_norm_backward
from depthlaw.numerics.runge_kutta import RESIDUAL


@dataclass
class _Group:
    """A stack of students with its gradients; ``members`` are their places among the task's keys."""

    members: list[int]
    weights: Stack
    grads: Stack
    of_teacher: Tensor | None
    of_student: Tensor | None


class TorchEngine:
    """See `depthlaw.lab.engine.Engine`.

    Parameters
    ----------
    config
        Loss, head, block, dtype, device and threads are taken from it.
    teacher
        Weights of the teacher.
    keys, students
        (students,) which they are, and their weights to start from.
    """

    name = "torch"

    def __init__(
        self, config: LabConfig, teacher: Network, keys: Sequence[StudentKey], students: Sequence[Network]
    ) -> None:
        torch.set_num_threads(thread_count(config))
        self._config = config
        self._keys = list(keys)
        self._device = torch.device(find_device(config.device))
        self._dtype = getattr(torch, config.dtype)
        self._method = config.student.method
        self._teacher = self._stack([teacher])
        self._groups = [self._group(members, students) for members in self._partition()]
        self._views: list[tuple[Tensor, ...]] = [()] * len(keys)
        self._grad_views: list[tuple[Tensor, ...]] = [()] * len(keys)
        for group in self._groups:
            for at, views, grads in zip(
                group.members, group.weights.tensors(), group.grads.tensors(), strict=True
            ):
                # a head that is not learned has weights but no gradient
                self._views[at], self._grad_views[at] = views[: len(grads)], grads
        self._adam = torch.optim.Adam(
            [{"params": list(views), "lr": 0.0} for views in self._views], lr=0.0, fused=True
        )
        self._steps = 0

    def _partition(self) -> list[list[int]]:
        order = sorted(range(len(self._keys)), key=lambda at: -self._keys[at].depth)
        if self._device.type != "cpu":
            return [order]
        groups: dict[float | None, list[int]] = {}
        for at in order:
            groups.setdefault(self._keys[at].temperature, []).append(at)
        return list(groups.values())

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device, self._dtype)

    def _stack(self, nets: Sequence[Network]) -> Stack:
        """Pad networks, deepest first, into one stack."""
        depths = tuple(net.depth for net in nets)

        def padded(arrays: list[Array]) -> Tensor:
            whole = np.zeros((len(nets), depths[0], *arrays[0].shape[1:]), arrays[0].dtype)
            for into, array in zip(whole, arrays, strict=True):
                into[: len(array)] = array
            return self._tensor(whole)

        heads = [net.head for net in nets if net.head is not None]
        return Stack(
            depths,
            padded([net.A for net in nets]),
            padded([net.b for net in nets]),
            padded([net.B for net in nets]),
            self._tensor(np.stack(heads)) if heads else None,
        )

    def _group(self, members: list[int], students: Sequence[Network]) -> _Group:
        weights = self._stack([students[at] for at in members])
        grads = weights.zeros_like()
        if self._config.head != "learned":
            grads = Stack(grads.depths, grads.A, grads.b, grads.B, None)
        of_teacher = of_student = None
        if self._config.loss == "kl":
            values = [self._keys[at].temperature or 1.0 for at in members]
            values = values[:1] if len(set(values)) == 1 else values
            of_teacher = self._tensor(np.array(values)[:, None, None])
            both = self._config.temperature_of == "both"
            of_student = of_teacher if both else torch.ones_like(of_teacher)
        return _Group(members, weights, grads, of_teacher, of_student)

    def _target(self, x: NDArray[np.float32]) -> tuple[Tensor, Tensor]:
        """Return h_0 (batch, width), the same for all networks, and what the teacher makes of it."""
        h0, _ = rms_norm(self._tensor(x))
        target, _ = rms_norm(forward(h0, self._teacher, RESIDUAL)[0])
        return h0, target if self._teacher.head is None else target @ self._teacher.head[0].T

    def _loss(self, group: _Group, normed: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return losses (nets,), gradient by the normalised states, and by the logits where there are any."""
        if group.of_teacher is None or group.of_student is None or group.weights.head is None:
            return *mse(normed, target), None
        logits = torch.bmm(normed, group.weights.head.transpose(1, 2))
        losses, by_logits = kl(logits, target, group.of_teacher, group.of_student)
        return losses, torch.bmm(by_logits, group.weights.head), by_logits

    @torch.no_grad()
    def losses(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """See `Engine.losses`."""
        h0, target = self._target(x)
        found = np.empty(len(self._keys))
        for group in self._groups:
            normed, _ = rms_norm(forward(h0, group.weights, self._method))
            found[group.members] = self._loss(group, normed, target)[0].cpu().numpy()
        return found

    @torch.no_grad()
    def train(
        self, x: NDArray[np.float32], rates: Sequence[float], alive: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """See `Engine.train`."""
        h0, target = self._target(x)
        found = np.empty(len(self._keys))
        for group in self._groups:
            found[group.members] = self._gradients(group, h0, target).cpu().numpy()
        goes_on = alive & np.isfinite(found)
        for at, options in enumerate(self._adam.param_groups):
            options["lr"] = rates[at]
            for view, grad in zip(self._views[at], self._grad_views[at], strict=True):
                view.grad = grad if goes_on[at] else None
        self._adam.step()
        self._steps += 1
        return found

    def _gradients(self, group: _Group, h0: Tensor, target: Tensor) -> Tensor:
        """Fill the group's gradients and return its losses (nets,)."""
        tape: list[list[Kept]] = []
        final = forward(h0, group.weights, self._method, tape)
        normed, scale = rms_norm(final)
        losses, by_normed, by_logits = self._loss(group, normed, target)
        if group.grads.head is not None and by_logits is not None:
            torch.bmm(by_logits.transpose(1, 2), normed, out=group.grads.head)
        by_final = rms_norm_backward(by_normed, normed, scale)
        backward(by_final, group.weights, self._method, tape, group.grads)
        return losses

    def networks(self) -> list[Network]:
        """See `Engine.networks`."""
        found: list[Network | None] = [None] * len(self._keys)
        for group in self._groups:
            for at, views in zip(group.members, group.weights.tensors(), strict=True):
                found[at] = Network(*(view.cpu().numpy().copy() for view in views))
        return [net for net in found if net is not None]

    def state(self) -> dict[str, Array]:
        """See `Engine.state`."""
        state: dict[str, Array] = {}
        for key, views in zip(self._keys, self._views, strict=True):
            for name, view in zip(("A", "b", "B", "head"), views, strict=False):
                moments = self._adam.state.get(view)
                state[f"{key.name}.{name}"] = view.cpu().numpy().copy()
                for moment in ("exp_avg", "exp_avg_sq"):
                    value = torch.zeros_like(view) if moments is None else moments[moment]
                    state[f"{key.name}.{name}.{moment}"] = value.cpu().numpy().copy()
        return {**state, "adam.steps": np.array([self._steps], np.float64)}

    def load_state(self, state: Mapping[str, Array]) -> None:
        """See `Engine.load_state`."""
        self._steps = int(state["adam.steps"][0])
        for key, views in zip(self._keys, self._views, strict=True):
            for name, view in zip(("A", "b", "B", "head"), views, strict=False):
                view.copy_(self._tensor(state[f"{key.name}.{name}"]))
                self._adam.state[view] = {
                    "step": torch.tensor(float(self._steps), device=self._device),
                    **{
                        moment: self._tensor(state[f"{key.name}.{name}.{moment}"])
                        for moment in ("exp_avg", "exp_avg_sq")
                    },
                }
