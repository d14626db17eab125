"""Which module plays which part in a causal language model, found by watching one small forward pass.

No names of families are known here. The blocks are the outermost list of alike modules that is as long as the
config says the model is deep and whose last output feeds what comes next; the tail is whatever modules run
after them, down to the head, each fed by the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from depthlaw.errors import InputError
from depthlaw.models.checks import tolerance_of
from depthlaw.models.hooks import split_call, untouched
from depthlaw.tensors.stack import state_of


@dataclass(frozen=True)
class Roles:
    """The parts of a causal language model, as paths of its modules (``"model.layers"``).

    Attributes
    ----------
    embedding
        Token embedding.
    blocks
        Module list of the residual blocks, in order.
    tail
        Modules from the raw last state to the input of the head, in order: final norm, projections. May be
        empty.
    head
        Module whose output is the logits, before any post-processing.
    final_norm
        The module of the tail that normalises the last state; ``None`` when there is none.
    """

    embedding: str
    blocks: str
    tail: tuple[str, ...]
    head: str
    final_norm: str | None


@dataclass(frozen=True)
class Step:
    """One module's run during an observed pass.

    Attributes
    ----------
    name, module
        Which one.
    start, end
        When, counted in starts and ends of modules.
    state, output
        Copies of its first argument and of (the first of) what it returned, where these are tensors.
    """

    name: str
    module: nn.Module
    start: int
    end: int
    state: Tensor | None
    output: Tensor | None


@dataclass(frozen=True)
class Observation:
    """One forward pass, module by module.

    Attributes
    ----------
    steps
        Every module's run, in the order of their starts.
    logits
        (1, tokens, vocabulary).
    """

    steps: tuple[Step, ...]
    logits: Tensor

    def of(self, module: nn.Module) -> list[Step]:
        """Return the runs of one module."""
        return [step for step in self.steps if step.module is module]


def find_roles(model: nn.Module, seen: Observation, depth: int | None) -> Roles:
    """Find the parts of ``model`` in an observed pass.

    Parameters
    ----------
    depth
        How many blocks the config says there are; ``None`` when it does not say.

    Raises
    ------
    InputError
        When no module list, or more than one, fits; lists the candidates.
    """
    lists = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) > 0
    ]
    reasons = {name: _why_not(module, seen, depth) for name, module in lists}
    fitting = [name for name, reason in reasons.items() if reason is None]
    outermost = [name for name in fitting if not any(name.startswith(f"{other}.") for other in fitting)]
    if len(outermost) != 1:
        raise InputError(
            f"{type(model).__name__}: {'no' if not outermost else 'more than one'} module list fits as its "
            f"blocks ({_listing(lists, reasons)}).",
            "Pass roles=Roles(...) with the paths of its modules.",
        )
    blocks = outermost[0]
    *tail, head = steps_after(seen, model.get_submodule(blocks))
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    return Roles(
        embedding=next(name for name, module in model.named_modules() if module is embedding),
        blocks=blocks,
        tail=tuple(step.name for step in tail),
        head=head.name,
        final_norm=next((step.name for step in tail if _is_norm(step)), None),
    )


def observe(model: nn.Module, ids: Tensor) -> Observation:
    """Run ``model`` once on ``ids`` (1, tokens) and watch all its modules."""
    runs: list[list[Any]] = []
    clock = iter(range(10**9))

    def entering(name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            state: Tensor | None = split_call(module, args, kwargs)[0].clone()
        except (TypeError, StopIteration, ValueError):
            state = None
        runs.append([name, module, next(clock), -1, state, None])

    def leaving(module: nn.Module, output: Any) -> None:
        run = next(run for run in reversed(runs) if run[1] is module and run[3] < 0)
        run[3] = next(clock)
        try:
            run[5] = state_of(output).clone()
        except TypeError:
            run[5] = None

    with untouched(model), ExitStack() as hooks:
        for name, module in model.named_modules():
            pre = module.register_forward_pre_hook(
                lambda module, args, kwargs, name=name: entering(name, module, args, kwargs), with_kwargs=True
            )
            hooks.callback(pre.remove)
            post = module.register_forward_hook(lambda module, args, output: leaving(module, output))
            hooks.callback(post.remove)
        logits = model(input_ids=ids, use_cache=False).logits
    return Observation(tuple(Step(*run) for run in runs), logits)


def scale_between(
    source: Tensor | None, target: Tensor | None, tolerance: float | None = None
) -> float | None:
    """Return the number ``s`` with target = s · source, or ``None`` when there is none.

    Parameters
    ----------
    tolerance
        Of the norm of the difference, relative to that of ``target``; ``None`` takes what rounding explains
        in the coarser of their dtypes.
    """
    if source is None or target is None or source.numel() != target.numel():
        return None
    if tolerance is None:
        tolerance = tolerance_of(source.dtype, target.dtype)
    # Parts of a model may lie on several devices, not all of which know float64.
    a, b = source.cpu().double().flatten(), target.cpu().double().flatten()
    square = float(a @ a)
    if square == 0:
        return None
    scale = float(a @ b) / square
    close = bool((b - scale * a).norm() <= tolerance * b.norm())
    return scale if close and scale != 0 else None


def steps_after(seen: Observation, blocks: nn.Module) -> list[Step]:
    """Return the runs of the modules after the blocks, each fed by the one before; the last is the head.

    Raises
    ------
    InputError
        When there are none, or when one is fed by something else.
    """
    (last,) = seen.of(blocks[-1])  # type: ignore[index]
    chain: list[Step] = []
    feeding, clock = last.output, last.end
    for step in seen.steps:
        if step.start < clock:
            continue
        if scale_between(feeding, step.state) is None:
            raise InputError(f"its output does not feed {step.name}")
        chain.append(step)
        feeding, clock = step.output, step.end
    if not chain:
        raise InputError("nothing runs after it")
    return chain


def _why_not(blocks: nn.ModuleList, seen: Observation, depth: int | None) -> str | None:
    """Return why ``blocks`` cannot be the residual blocks, ``None`` when they can."""
    if len({type(block) for block in blocks}) > 1:
        return "of different kinds"
    if depth is not None and len(blocks) != depth:
        return f"the config says {depth}"
    runs = [seen.of(block) for block in blocks]
    if any(len(run) != 1 for run in runs):
        return "not each run once"
    if any(later[0].start < earlier[0].end for earlier, later in pairwise(runs)):
        return "not run in order"
    try:
        steps_after(seen, blocks)
    except InputError as error:
        return error.message
    return None


def _is_norm(step: Step) -> bool:
    flat = all(parameter.dim() <= 1 for parameter in step.module.parameters())
    # Identities and dropout have no parameters either, but hand on what they get. States of a wide model may
    # be nearly of one size before training: at the tolerance of 16 bit, their norm would pass for a scale.
    return flat and scale_between(step.state, step.output, 1e-3) is None


def _listing(lists: Sequence[tuple[str, nn.ModuleList]], reasons: dict[str, str | None]) -> str:
    shown = [
        f"{name}: {len(module)} × {type(module[0]).__name__}, {reasons[name] or 'fits'}"
        for name, module in lists
        # Lists inside blocks are many and all alike.
        if name.count(".") <= 3
    ]
    return "; ".join(shown[:5]) + ("; …" if len(shown) > 5 else "") or "there are none"
