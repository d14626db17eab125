"""Noise on the embeddings of a subject, in seeded draws that every cell shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from depthlaw.errors import UsageError
from depthlaw.interventions.noise import Noise
from depthlaw.models import LanguageModel


def embeddings(lm: LanguageModel, ids: Sequence[int]) -> Tensor:
    """(tokens, width) output of the embedding, where `LanguageModel.capture` lets it be edited."""
    module = lm.model.get_submodule(lm.roles.embedding)
    with torch.no_grad():
        found: Tensor = module(lm.tokens([list(ids)]).ids)
    return found[0]


def spread(subjects: Sequence[Tensor]) -> float:
    """Standard deviation of all entries of the subjects' embeddings, pooled over tokens and prompts.

    The paper's reference takes it of the whole embedding matrix, which where embeddings are scaled is √width
    too small.
    """
    return float(torch.cat([subject.double().flatten() for subject in subjects]).std())


def draw(
    noise: Noise, subject: Tensor, unit: float, samples: int, seed: int, index: int, others: Sequence[Tensor]
) -> Tensor:
    """Return the corrupted embeddings of one subject.

    Parameters
    ----------
    subject
        (tokens, width) clean embeddings.
    unit
        One standard deviation.
    index
        Number of the prompt; draws of different prompts are independent.
    others
        (their tokens, width) each; only for ``other``. A shorter one is repeated at its end, a longer one
        cut.

    Returns
    -------
    Tensor
        (samples, tokens, width), in the dtype and on the device of ``subject``.

    Raises
    ------
    UsageError
        When there is no other subject to take.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    if noise.kind == "other":
        if not others:
            raise UsageError(
                'noise "t" needs another subject.', "Name one: --other TEXT, or give several prompts."
            )
        order = np.concatenate([rng.permutation(len(others)) for _ in range(-(-samples // len(others)))])
        chosen = [others[number] for number in order[:samples]]
        return torch.stack([donor[_places(len(subject), len(donor))] for donor in chosen]).to(subject)
    size = noise.level * (unit if noise.scaled else 1.0)
    shape = (samples, *subject.shape)
    drawn = rng.standard_normal(shape) if noise.kind == "gaussian" else rng.uniform(-1.0, 1.0, shape)
    return subject + torch.from_numpy(size * drawn).to(subject)


def _places(wanted: int, have: int) -> list[int]:
    return [min(place, have - 1) for place in range(wanted)]
