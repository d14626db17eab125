"""The average effect over prompts, by the part a token plays, with intervals over prompts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROLES = (
    "before",
    "first subject token",
    "middle subject tokens",
    "last subject token",
    "first token after",
    "further tokens",
    "last token",
)
"""Parts that tokens play, in their order; the last token is the one that predicts the target. A subject of
one token has only a last one."""


@dataclass(frozen=True)
class Effects:
    """Average effect p(restored) − p(corrupted) over prompts.

    Attributes
    ----------
    roles
        Those that any prompt has, see `ROLES`.
    prompts
        (roles,) how many have it.
    mean
        (roles, blocks) in probability.
    stderr
        (roles, blocks) over prompts; NaN for one.
    half_width
        (roles, blocks) of the interval at ``level``, Student's t over prompts.
    level
        Of the intervals.
    """

    roles: tuple[str, ...]
    prompts: NDArray[np.int64]
    mean: NDArray[np.float64]
    stderr: NDArray[np.float64]
    half_width: NDArray[np.float64]
    level: float


def role_of(token: int, subject: tuple[int, int], predict: int) -> str:
    """Return the part a token plays."""
    begin, end = subject
    if token < begin:
        return "before"
    if token < end:
        if token == end - 1:
            return "last subject token"
        return "first subject token" if token == begin else "middle subject tokens"
    if token == predict:
        return "last token"
    return "first token after" if token == end else "further tokens"


def average_effects(
    maps: list[NDArray[np.float64]], subjects: list[tuple[int, int]], predicts: list[int], level: float = 0.95
) -> Effects:
    """Average the maps of prompts; tokens of one part are averaged within a prompt first.

    Parameters
    ----------
    maps
        (blocks, tokens) effect, one a prompt.
    """
    from scipy.special import stdtrit

    by_role: dict[str, list[NDArray[np.float64]]] = {role: [] for role in ROLES}
    for effect, subject, predict in zip(maps, subjects, predicts, strict=True):
        columns: dict[str, list[int]] = {}
        for token in range(effect.shape[1]):
            columns.setdefault(role_of(token, subject, predict), []).append(token)
        for role, tokens in columns.items():
            by_role[role].append(effect[:, tokens].mean(1))
    roles = tuple(role for role in ROLES if by_role[role])
    counts = np.array([len(by_role[role]) for role in roles], dtype=np.int64)
    mean = np.stack([np.mean(by_role[role], axis=0) for role in roles])
    error = np.stack(
        [
            np.std(by_role[role], axis=0, ddof=1) / math.sqrt(len(by_role[role]))
            if len(by_role[role]) > 1
            else np.full(mean.shape[1], np.nan)
            for role in roles
        ]
    )
    quantile = np.array([stdtrit(n - 1, 0.5 + level / 2) if n > 1 else np.nan for n in counts])
    return Effects(roles, counts, mean, error, error * quantile[:, None], level)
