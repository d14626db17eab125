"""From the raw last state to the logits: the modules after the blocks, and what happens between them.

Scales (a number applied before the head or to the logits) and soft caps are not modules. Scales before the
head show in one observed pass. A cap does not where logits are small, so that the model is run once more with
a ramp in place of what its head gives: what comes out is what is done to logits of any size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from depthlaw.errors import InputError
from depthlaw.models.checks import tolerance_of
from depthlaw.models.hooks import editing_output, untouched
from depthlaw.models.roles import Observation, Roles, scale_between

_LEAST, _MOST = 1e-2, 1e3  # sizes on the ramp: a cap beyond the largest moves no logits that there are
_PLACES = 10_000


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


def learn_tail(model: nn.Module, roles: Roles, seen: Observation, ids: Tensor) -> Tail:
    """Read scales off an observed pass, and a cap off another one.

    Parameters
    ----------
    seen
        The observed pass on ``ids`` (1, tokens).

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
        if scale is None or step.state is None:
            raise InputError(f"{type(model).__name__}: what feeds {name} is not the output before it.")
        scales.append(_exact(scale, model, tolerance_of(step.state.dtype)))
        modules.append(module)
        feeding = step.output
    scale, cap = _after_head(model, modules[-1], ids)
    if feeding is None or not _explains(scale, cap, feeding, seen.logits):
        raise _not_reproduced(model)
    norm_at = names.index(roles.final_norm) + 1 if roles.final_norm else 0
    return Tail(tuple(modules), tuple(scales), scale, cap, norm_at)


def _after_head(model: nn.Module, head: nn.Module, ids: Tensor) -> tuple[float, float | None]:
    """Return the scale and the cap that turn what the head gives into logits."""
    given, got = _ramp(model, head, ids)
    if given.numel() != got.numel():
        raise _not_reproduced(model)
    # A hundred numbers of a config are tried on logits that may be millions; an odd step takes both signs.
    step = given.numel() // _PLACES | 1
    z, target = given.flatten()[::step], got.flatten()[::step]
    rounding = tolerance_of(given.dtype, got.dtype)
    plain = scale_between(z, target, math.inf) or 1.0
    tries: list[tuple[float, float | None]] = [(_exact(plain, model, rounding), None)]
    largest = float(target.abs().max())
    for cap in (*(number for number in _numbers(model) if number > 0), largest):
        # Undoing the cap loses precision where it bites.
        free = target.abs() < cap / 2
        undone = cap * torch.atanh(target[free].double() / cap)
        tries.append((_exact(scale_between(z[free], undone, math.inf) or 1.0, model, rounding), cap))
    best: tuple[float, float, float | None] = (math.inf, 1.0, None)
    for scale, limit in tries:
        gap = _gap(scale, limit, z, target)
        # What explains no more than rounding does is not preferred to a simpler account.
        if gap < best[0] / 2:
            best = (gap, scale, limit)
    if not best[0] <= rounding:
        raise _not_reproduced(model)
    return best[1], best[2]


def _ramp(model: nn.Module, head: nn.Module, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Put numbers of all sizes and both signs in place of the head's output; return them and the logits."""
    given: list[Tensor] = []

    def instead(output: Tensor) -> Tensor:
        sizes = torch.logspace(math.log10(_LEAST), math.log10(_MOST), output.numel())
        sizes[1::2] *= -1
        given.append(sizes.to(output.dtype).reshape(output.shape))
        # Scales and caps may be applied in place.
        return given[-1].to(output.device, copy=True)

    with untouched(model), editing_output(head, instead):
        logits: Tensor = model(input_ids=ids, use_cache=False).logits
    return given[-1], logits.cpu()


def _explains(scale: float, cap: float | None, raw: Tensor, logits: Tensor) -> bool:
    if raw.numel() != logits.numel():
        return False
    return _gap(scale, cap, raw, logits) <= tolerance_of(raw.dtype, logits.dtype)


def _gap(scale: float, cap: float | None, raw: Tensor, logits: Tensor) -> float:
    """Norm of the difference of scaled and capped ``raw`` from ``logits``, relative to that of ``logits``."""
    z, target = raw.cpu().double().flatten(), logits.cpu().double().flatten()
    made = z * scale if cap is None else cap * torch.tanh(z * scale / cap)
    return float((made - target).norm() / target.norm())


def _not_reproduced(model: nn.Module) -> InputError:
    return InputError(
        f"{type(model).__name__}: its logits cannot be reproduced from the output of its head.",
        "A scale or a cap on the logits is understood; something else happens to them here.",
    )


def _text_config(model: nn.Module) -> object:
    config = model.config
    return config.get_text_config() if hasattr(config, "get_text_config") else config  # type: ignore[operator]


def _numbers(model: nn.Module) -> list[float]:
    values = vars(_text_config(model)).values()
    return sorted({float(x) for x in values if isinstance(x, int | float) and not isinstance(x, bool) and x})


def _exact(scale: float, model: nn.Module, tolerance: float) -> float:
    """Return the number that a measured scale stands for: 1, or what the config holds, or its reciprocal."""
    numbers = _numbers(model)
    known = [1.0, *numbers, *(1 / number for number in numbers)]
    nearest = min(known, key=lambda number: abs(number - scale))
    return nearest if abs(nearest - scale) <= tolerance * abs(scale) else scale
