"""Which prompts run together, and in how many rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from depthlaw.interventions.positions import Placed
from depthlaw.interventions.trace_config import TraceConfig

_BATCH_TOKENS = {"cpu": 512}
_BATCH_TOKENS_ELSEWHERE = 16_384


def batch_tokens(device: str) -> int:
    """Tokens of a batch that suit a device, where rows are not set."""
    return _BATCH_TOKENS.get(device, _BATCH_TOKENS_ELSEWHERE)


def in_groups(placed: Sequence[Placed], config: TraceConfig, tokens: int) -> list[tuple[list[int], int]]:
    """Put prompts of similar length together, each group with its rows of a batch.

    A group's clean and corrupted rows fit one batch where possible; its restored rows of one block are cut
    into equal batches.

    Parameters
    ----------
    tokens
        Of a batch, where rows are not set.
    """
    # The longest first, so that what does not fit into memory shows at once.
    order = sorted(range(len(placed)), key=lambda n: (-len(placed[n].ids), n))
    groups: list[tuple[list[int], int]] = []
    while order:
        longest = len(placed[order[0]].ids)
        fixed = config.batch_size if isinstance(config.batch_size, int) else None
        most = fixed or max(1, tokens // longest)
        count = max(1, most // (1 + config.samples))
        members, order = order[:count], order[count:]
        restored = sum(
            1 if config.span == "subject" else placed[n].predict + 1 - placed[n].subject[0] for n in members
        )
        rows = config.samples * restored
        groups.append((members, fixed or math.ceil(rows / math.ceil(rows / most))))
    return groups
