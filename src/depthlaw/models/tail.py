"""From the raw last state to the logits: the modules after the blocks, and what happens between them.

Scales (a number applied before the head or to the logits) and soft caps are not modules; they are inferred
from one observed pass and then hold for any state, token by token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from depthlaw.errors import InputError
from depthlaw.models.roles import Observation, Roles, scale_between

_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Tail:
    """What turns raw last states into logits.

    Attributes
    ----------
    modules
        In order; the last is the head.
    scales
        The number each module's input is multiplied by first; 1 nearly always.
    logit_scale
        Multiplies the head's output.
    logit_cap
        ``c`` of ``c · tanh(logits / c)``, applied last; ``None`` for none.
    norm_at
        How many modules, from the first, give the normed state; 0 when there is no final norm.
    """

    modules: tuple[nn.Module, ...]
    scales: tuple[float, ...]
    logit_scale: float
    logit_cap: float | None
    norm_at: int

    def logits(self, state: Tensor) -> Tensor:
        """Raw last states (tokens, width) → logits (tokens, vocabulary)."""
        x = self._run(state, len(self.modules))
        x = x if self.logit_scale == 1 else x * self.logit_scale
        return x if self.logit_cap is None else self.logit_cap * torch.tanh(x / self.logit_cap)

    def normed(self, state: Tensor) -> Tensor | None:
        """Raw last states (tokens, width) → the same after the final norm; ``None`` when there is none."""
        return self._run(state, self.norm_at) if self.norm_at else None

    def _run(self, state: Tensor, count: int) -> Tensor:
        x = state.unsqueeze(0)
        for module, scale in zip(self.modules[:count], self.scales[:count], strict=True):
            weight = next(module.parameters(), None)
            # Norms may leave float32 behind in a bfloat16 model; the model's own code casts, so do we. With
            # offloading, weights live on no device here and the dtype is all they can say.
            if weight is not None and x.dtype != weight.dtype and isinstance(module, nn.Linear):
                x = x.to(weight.dtype)
            x = module(x if scale == 1 else x * scale)
        return x.squeeze(0)


def learn_tail(model: nn.Module, roles: Roles, seen: Observation) -> Tail:
    """Read scales and caps off an observed pass.

    Raises
    ------
    InputError
        When the logits are no scaled or capped function of the head's output.
    """
    names = (*roles.tail, roles.head)
    (last,) = seen.of(model.get_submodule(roles.blocks)[-1])  # type: ignore[index]
    feeding, scales, modules = last.output, [], []
    for name in names:
        module = model.get_submodule(name)
        step = next((step for step in seen.of(module) if step.start > last.end), None)
        if step is None:
            raise InputError(f"{name} does not run after the last block of {type(model).__name__}.")
        scale = scale_between(feeding, step.state)
        if scale is None:
            raise InputError(f"{type(model).__name__}: what feeds {name} is not the output before it.")
        scales.append(_exact(scale, model))
        modules.append(module)
        feeding = step.output
    scale, cap = _after_head(model, feeding, seen.logits)
    norm_at = names.index(roles.final_norm) + 1 if roles.final_norm else 0
    return Tail(tuple(modules), tuple(scales), scale, cap, norm_at)


def _after_head(model: nn.Module, raw: Tensor | None, logits: Tensor) -> tuple[float, float | None]:
    """Return the scale and the cap that come nearest to turning the head's output into the logits."""
    known = [number for number in _numbers(model) if number > 0]
    best: tuple[float, float, float | None] = (math.inf, 1.0, None)
    if raw is not None:
        z, target = raw.double(), logits.double()
        plain = scale_between(raw, logits, math.inf) or 1.0
        tries: list[tuple[float, float | None]] = [(_exact(plain, model), None)]
        for cap in known:
            # Undoing the cap loses precision where it bites, so it is redone and compared instead.
            undone = cap * torch.atanh((target / cap).clamp(-0.99, 0.99))
            factor = _exact(scale_between(raw, undone, math.inf) or 1.0, model)
            tries += [(factor, cap), (1.0, cap)]
        for scale, limit in tries:
            made = z * scale if limit is None else limit * torch.tanh(z * scale / limit)
            gap = float((made - target).norm() / target.norm())
            # What explains no more than rounding does is not preferred to a simpler account.
            if gap < best[0] / 2:
                best = (gap, scale, limit)
    if best[0] > _TOLERANCE:
        raise InputError(
            f"{type(model).__name__}: its logits cannot be reproduced from the output of its head.",
            "A scale or a cap on the logits is understood; something else happens to them here.",
        )
    return best[1], best[2]


def _text_config(model: nn.Module) -> object:
    config = model.config
    return config.get_text_config() if hasattr(config, "get_text_config") else config  # type: ignore[operator]


def _numbers(model: nn.Module) -> list[float]:
    values = vars(_text_config(model)).values()
    return sorted({float(x) for x in values if isinstance(x, int | float) and not isinstance(x, bool) and x})


def _exact(scale: float, model: nn.Module) -> float:
    """Return the number that a measured scale stands for: 1, or what the config holds, or its reciprocal."""
    numbers = _numbers(model)
    known = [1.0, *numbers, *(1 / number for number in numbers)]
    nearest = min(known, key=lambda number: abs(number - scale))
    return nearest if abs(nearest - scale) <= _TOLERANCE * abs(scale) else scale
