"""Probes behind Fig. 2a to 2e at three scales; one run of a model serves every figure that needs it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from depthlaw.errors import InputError
from depthlaw.models import load_model
from depthlaw.places import folders
from depthlaw.probe.config import ProbeConfig
from depthlaw.probe.result import ProbeResult
from depthlaw.probe.run import probe
from depthlaw.probe.sample import TokenSample
from depthlaw.probe.trajectories import Trajectories
from depthlaw.reproduce.cached import kept_or_anew, seldom
from depthlaw.reproduce.probe_inputs import Candidate, Choice, for_layers
from depthlaw.reproduce.registry import Scale

log = logging.getLogger(__name__)

_LIMIT = {"smoke": "500 tokens", "small": "3k tokens", "paper": "4800 documents"}
_LENGTH = {"smoke": 96, "small": 256, "paper": 1024}


@dataclass(frozen=True)
class Probed:
    """A model of three blocks or more with its probe."""

    candidate: Candidate
    result: ProbeResult

    @property
    def name(self) -> str:
        """What to call it."""
        return self.candidate.name

    @property
    def trajectories(self) -> tuple[Trajectories, TokenSample]:
        """What trajectories of tokens look like, and the tokens themselves in the same order."""
        found, sample = self.result.trajectories, self.result.gathered.sample
        assert found is not None
        assert sample is not None
        return found, sample


def configuration(scale: Scale, *, lens: bool) -> ProbeConfig:
    """Return the settings at a scale; ``paper`` is the protocol itself.

    Reduced scales keep the published numerics beside the corrected ones and read less text. Batches have no
    part in what the figures show, so that the largest that fit are taken where there are many. They do have
    one in CKA and angular distances, which draw tokens batch by batch: no figure here shows those.
    """
    return ProbeConfig(
        limit=_LIMIT[scale],
        max_length=_LENGTH[scale],
        lens="block" if lens else False,
        mode="paper",
        batch_size="auto" if scale == "paper" else 8,
        dtype="bfloat16" if scale == "paper" else "float32",
        tokens=False,
    )


def probed(choice: Choice, scale: Scale) -> tuple[list[Probed], list[str]]:
    """Probe the models of a choice that can be had; also say of the others why not."""
    found: list[Probed] = []
    missing, hub = [], ""
    with_lens = for_layers(scale).models
    for candidate in choice.models:
        remote = not Path(candidate.place).exists()
        why = hub if remote else ""
        if not why and choice.text is not None:
            result = probe_run(candidate, choice.text, scale, lens=candidate in with_lens)
            if isinstance(result, InputError):
                why = result.message.splitlines()[0]
                # What keeps one model of the hub away, slowly perhaps, keeps the others away too.
                hub = why if remote else hub
            elif result.depth < 3:
                why = f"{result.depth} blocks, which leave no middle"
            elif result.trajectories is None:
                why = "too few tokens"
            else:
                found.append(Probed(candidate, result))
        if why:
            missing.append(f"Skipped: {candidate.name} ({why}).")
    return found, missing


@cache
def probe_run(candidate: Candidate, text: str, scale: Scale, *, lens: bool) -> ProbeResult | InputError:
    """Probe a model at a scale, or read what an earlier call has measured.

    Runs longer than seconds are kept in ``$DEPTHLAW_CACHE/probe``, where an interrupted one is continued. An
    error is returned and not raised, so that the other figures need not wait for it again.
    """
    try:
        return _probe_run(candidate, text, scale, lens=lens)
    except InputError as error:
        return error.with_traceback(None)  # a traceback would keep the model


def _probe_run(candidate: Candidate, text: str, scale: Scale, *, lens: bool) -> ProbeResult:
    config = configuration(scale, lens=lens)
    model = replace(load_model(candidate.place, dtype=config.dtype), name=candidate.name)
    cached = folders()["DEPTHLAW_CACHE"]
    if scale == "smoke" or cached is None:
        return probe(model, text, config=config)
    out = cached / "probe" / f"{candidate.name}-{scale}{'-lens' if lens else ''}"

    def run(*, resume: bool) -> ProbeResult:
        return probe(model, text, config=config, out=out, resume=resume, progress=_logged(candidate.name))

    return kept_or_anew(out, run)


def _logged(name: str) -> Callable[[int, int], None]:
    """Report to the log, seldom."""
    begun = time.monotonic()

    def say(documents: int, tokens: int) -> None:
        speed = tokens / (time.monotonic() - begun)
        log.info("%s: %d documents, %d tokens, %.0f tokens/s", name, documents, tokens, speed)

    return seldom(say)


def described(probes: Sequence[Probed]) -> str:
    """Say what was run on what."""
    first = probes[0].result
    each = ", ".join(
        f"{probe.name} ({probe.result.depth} blocks; {probe.result.n_documents} documents, "
        f"{probe.result.n_counted} tokens that count)"
        for probe in probes
    )
    return f"{each}; {Path(first.text).name}, documents cut at {first.settings['max_length']} tokens"
