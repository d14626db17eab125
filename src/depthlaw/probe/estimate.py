"""What a probe would take, before it is run: memory, speed, time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice

from depthlaw.data.text.limit import Limit
from depthlaw.data.text.source import TextSource
from depthlaw.data.text.tokens import TokenReader
from depthlaw.models import LanguageModel
from depthlaw.probe.config import ProbeConfig
from depthlaw.probe.measure import Measuring, see
from depthlaw.probe.memory import bytes_per_token, likely_batch_size
from depthlaw.probe.run import context, worst_batch

_SAMPLE = 64
_TRIAL_TOKENS = 256


@dataclass(frozen=True)
class Estimate:
    """What a probe would take.

    Attributes
    ----------
    depth, width, max_length, batch_size
        As they would be used.
    memory_bytes
        Of a batch, weights aside.
    weights_bytes
        Of the weights.
    tokens_per_second
        Measured on one short row; a full batch is usually faster.
    tokens_per_document
        Mean over the first documents; ``None`` when the text cannot be looked at beforehand.
    tokens
        To be read in all; ``None`` when that is not known.
    """

    depth: int
    width: int
    max_length: int
    batch_size: int
    memory_bytes: int
    weights_bytes: int
    tokens_per_second: float
    tokens_per_document: float | None
    tokens: float | None

    def lines(self) -> list[str]:
        """Return the estimate in words, a line each."""
        said = [
            f"{self.depth} blocks × {self.width}; batches of {self.batch_size} × {self.max_length} tokens",
            f"memory: {_size(self.weights_bytes)} of weights, about {_size(self.memory_bytes)} a batch",
            f"speed: about {self.tokens_per_second:.0f} tokens/s (one short row)",
        ]
        if self.tokens_per_document is not None:
            said.append(f"text: {self.tokens_per_document:.0f} tokens a document in the first {_SAMPLE}")
        if self.tokens is not None:
            said.append(
                f"time: about {_duration(self.tokens / self.tokens_per_second)} for {self.tokens:.0f} tokens"
            )
        else:
            said.append("time: unknown, as the length of the text is; --limit bounds it")
        return said


def estimate(lm: LanguageModel, source: TextSource, config: ProbeConfig) -> Estimate:
    """Try one short row and look at the beginning of the text.

    Parameters
    ----------
    source
        Only looked at when it can be read again.
    """
    measuring = Measuring(config.reading, config.mode)
    lens = config.reading != "none"
    length = context(lm, config)[0]
    rows = config.batch_size
    if not isinstance(rows, int):
        rows = likely_batch_size(lm, length, lens=lens)
    row = bytes_per_token(lm.depth, lm.width, lm.dtype.itemsize, lens=lens)
    trial = worst_batch(1, min(length, _TRIAL_TOKENS))
    see(lm, trial, measuring)  # the first one pays for caches
    start = time.perf_counter()
    see(lm, trial, measuring)
    speed = trial.n_tokens / (time.perf_counter() - start)
    each = None
    if source.identity is not None and lm.tokenizer is not None:
        some = list(islice(source.documents(), _SAMPLE))
        known = TokenReader(lm.tokenizer, length, config.bos).read(some)
        each = sum(len(item.input_ids) for item in known) / max(len(known), 1)
    return Estimate(
        depth=lm.depth,
        width=lm.width,
        max_length=length,
        batch_size=rows,
        memory_bytes=row * rows * length,
        weights_bytes=sum(p.numel() * p.element_size() for p in lm.model.parameters()),
        tokens_per_second=speed,
        tokens_per_document=each,
        tokens=_tokens(config.stop or Limit(), each),
    )


def _tokens(limit: Limit, each: float | None) -> float | None:
    if limit.tokens is not None:
        return limit.tokens
    return None if limit.documents is None or each is None else limit.documents * each


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
