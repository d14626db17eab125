"""What must hold of a model before anything is measured on it, found by running it on eight tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from depthlaw.errors import InputError
from depthlaw.models.hooks import untouched
from depthlaw.tensors.geometry import working
from depthlaw.tensors.stack import run_blocks

if TYPE_CHECKING:
    from depthlaw.models.language_model import LanguageModel
    from depthlaw.models.roles import Observation

TOKENS = 8


@dataclass(frozen=True)
class Checks:
    """What was found at load; stored with every result.

    Differences are relative to the root mean square of what they are compared with.

    Attributes
    ----------
    depth, width
        Blocks counted in the observed pass, and the width of the states.
    dtype, device
        Of the states, and where token ids go.
    logits_difference
        Logits replayed from the raw last state, against the model's own.
    replay_difference
        Last state after running the blocks again with captured arguments, against the captured one.
    future_difference
        States before a changed last token, against those before the change: 0 for a causal model.
    left_padding_difference
        Last state of a row that is padded on the left, against that of the row alone; large for recurrent
        models whose code lets padding into their memory.
    hidden_states_last
        What the last entry of the library's ``hidden_states`` is: ``raw``, ``normed``, ``other``, or
        ``absent`` when there are none.
    hidden_states_first
        Which state their first entry is: 0 for h_0, 1 where the library leaves it out and indices are shifted
        by one; ``None`` when it is neither.
    """

    depth: int
    width: int
    dtype: torch.dtype
    device: torch.device
    logits_difference: float = float("nan")
    replay_difference: float = float("nan")
    future_difference: float = float("nan")
    left_padding_difference: float = float("nan")
    hidden_states_last: str = "absent"
    hidden_states_first: int | None = None

    @property
    def tolerance(self) -> float:
        """Largest difference that rounding explains, in the dtype of the states."""
        return tolerance_of(self.dtype)

    @property
    def minds_left_padding(self) -> bool:
        """Whether padding on the left changes the states of real tokens."""
        return self.left_padding_difference > 10 * self.tolerance


def tolerance_of(*dtypes: torch.dtype) -> float:
    """Largest relative difference that rounding explains where tensors of these dtypes meet."""
    return max(1e-4 if dtype in (torch.float32, torch.float64) else 2e-2 for dtype in dtypes)


def check_tokens(model: nn.Module, tokens: int = TOKENS) -> Tensor:
    """(1, tokens) ids spread over the vocabulary, none of them special in the config.

    Raises
    ------
    InputError
        When the vocabulary holds none but special ones.
    """
    config = model.config.get_text_config()  # type: ignore[operator, union-attr]
    special = set[Any]()
    for kind in ("pad", "bos", "eos"):
        named = getattr(config, f"{kind}_token_id", None)
        # Chat models stop at any of several marks.
        special.update(named if isinstance(named, list | tuple) else [named])
    step = max(1, config.vocab_size // (tokens + 2))
    ids = [i for i in range(step, config.vocab_size, step) if i not in special][:tokens]
    if not ids:
        raise InputError(
            f"{type(model).__name__}: all of its {config.vocab_size} tokens are special ones.",
            "Its config.json names padding, beginning and end of a text: pad_, bos_ and eos_token_id.",
        )
    return torch.tensor([ids + [ids[-1]] * (tokens - len(ids))])


def check(language_model: LanguageModel, seen: Observation, ids: Tensor) -> Checks:
    """Run the checks and return what was found.

    Parameters
    ----------
    seen
        The observed pass on ``ids`` (1, tokens).

    Raises
    ------
    InputError
        When the model is not causal, or cannot be replayed; says which and by how much.
    """
    lm, checks = language_model, language_model.checks
    tolerance = checks.tolerance
    trace = lm.capture(lm.tokens(ids))
    logits = difference(lm.finish(trace.states[-1]), seen.logits)
    replay = difference(run_blocks(lm, trace.states[0], trace.calls), trace.states[-1])
    changed = ids.clone()
    changed[0, -1] = ids[0, 0]
    other = lm.capture(lm.tokens(changed))
    future = max(difference(b[:, :-1], a[:, :-1]) for a, b in zip(trace.states, other.states, strict=True))
    what = type(lm.model).__name__
    for value, message in (
        (future, "is not causal: a changed last token moves the states before it"),
        (
            replay,
            "cannot be replayed: its blocks, run again with the same arguments, give another last state",
        ),
        (logits, "cannot be read: its logits do not follow from its raw last state"),
    ):
        if not value <= tolerance:
            raise InputError(f"{what} {message} (relative difference {value:.2g}, allowed {tolerance:.0e}).")
    last, first = _hidden_states(lm, lm.tokens(ids).ids, trace.states, tolerance)
    return Checks(
        depth=lm.depth,
        width=checks.width,
        dtype=checks.dtype,
        device=checks.device,
        logits_difference=logits,
        replay_difference=replay,
        future_difference=future,
        left_padding_difference=_left_padding(lm, ids, trace.states[-1]),
        hidden_states_last=last,
        hidden_states_first=first,
    )


def _left_padding(lm: LanguageModel, ids: Tensor, alone: Tensor) -> float:
    pads = 3
    mask = torch.ones(1, pads + ids.shape[1], dtype=torch.bool)
    mask[:, :pads] = False
    padded = lm.capture(lm.tokens(torch.cat([ids[:, :1].expand(1, pads), ids], dim=1), mask))
    return difference(padded.states[-1][:, pads:], alone)


def difference(got: Tensor, expected: Tensor) -> float:
    """Largest absolute difference, relative to the root mean square of ``expected``."""
    got, expected = working(got), working(expected).to(got.device)
    size = float(expected.square().mean().sqrt())
    gap = float((got - expected).abs().max())
    return gap if size == 0 else gap / size


def _hidden_states(
    lm: LanguageModel, ids: Tensor, states: Sequence[Tensor], tolerance: float
) -> tuple[str, int | None]:
    """Compare the library's own record with the raw states: what its last entry is, and which its first."""
    with untouched(lm.model):
        output = lm.model(input_ids=ids, use_cache=False, output_hidden_states=True)
    entries = getattr(output, "hidden_states", None)
    if not entries:
        return "absent", None

    def same(entry: Tensor, state: Tensor | None) -> bool:
        return state is not None and entry.shape == state.shape and difference(entry, state) <= tolerance

    normed = lm.normed(states[-1][0])
    kinds = {"raw": states[-1], "normed": None if normed is None else normed.unsqueeze(0)}
    last = next((kind for kind, state in kinds.items() if same(entries[-1], state)), "other")
    first = next((layer for layer in (0, 1) if same(entries[0], states[layer])), None)
    return last, first
