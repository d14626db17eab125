"""Losses of a stack of students against one teacher, with their gradients by the students' outputs.

Source: paper App. C. Squared error of normalised final states, mean over batch and coordinates; or the
divergence of the teacher's from the student's class probabilities, summed over classes, mean over the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor


def mse(normed: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Squared error.

    Parameters
    ----------
    normed
        (nets, batch, width) normalised final states of the students.
    target
        (batch, width) that of the teacher.

    Returns
    -------
    losses
        (nets,).
    grad
        (nets, batch, width) by ``normed``.
    """
    off = normed - target
    return off.square().mean((1, 2)), off.mul_(2 / target.numel())


def kl(logits: Tensor, target: Tensor, of_teacher: Tensor, of_student: Tensor) -> tuple[Tensor, Tensor]:
    """KL(softmax(target / T_teacher) ‖ softmax(logits / T_student)).

    Parameters
    ----------
    logits
        (nets, batch, classes) of the students.
    target
        (batch, classes) of the teacher, not yet divided by a temperature.
    of_teacher, of_student
        (nets, 1, 1) or (1, 1, 1) temperatures.

    Returns
    -------
    losses
        (nets,) nats.
    grad
        (nets, batch, classes) by ``logits``.
    """
    log_p = torch.log_softmax(target / of_teacher, -1)
    log_q = torch.log_softmax(logits / of_student, -1)
    p = log_p.exp()
    # Term by term: entropy minus cross-entropy would cancel where the two agree.
    losses = (p * (log_p - log_q)).sum(-1).mean(-1)
    return losses, log_q.exp_().sub_(p).div_(of_student * len(target))


def mse_of_samples(normed: Tensor, target: Tensor) -> Tensor:
    """Squared error of each sample: (…, width) and (…, width) → (…)."""
    return (normed - target).square().mean(-1)


def kl_of_samples(p_logits: Tensor, q_logits: Tensor) -> Tensor:
    """KL(softmax(p) ‖ softmax(q)) of each sample, nats: (…, classes) and (…, classes) → (…)."""
    log_p, log_q = torch.log_softmax(p_logits, -1), torch.log_softmax(q_logits, -1)
    return (log_p.exp() * (log_p - log_q)).sum(-1)
