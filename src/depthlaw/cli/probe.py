"""``depthlaw probe``: how a language model uses its depth, on real text."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.errors import ExitCode
from depthlaw.probe.config import ProbeConfig

DEFAULTS = ProbeConfig()
_EVERY = 30.0


def probe_command(
    model: str,
    /,
    *,
    text: Annotated[str, Parameter(metavar="SOURCE")],
    config: Annotated[ProbeConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Measure how much, and in what direction, every layer of a language model turns the hidden state.

    Parameters
    ----------
    model
        Folder, GGUF file, name of a folder in $DEPTHLAW_MODELS, or model id of the Hugging Face hub.
    text
        File (.txt .jsonl .parquet .csv, also gzip or zstd), folder, "-" for standard input, or a data set of
        the hub as hf:org/name.
    """
    from depthlaw.models import load_model
    from depthlaw.probe.run import described, open_source, probe
    from depthlaw.report.probe import probe_payload, probe_text
    from depthlaw.report.probe_files import write_probe_files

    source = open_source(text, config)
    lm = load_model(model, revision=config.revision, dtype=config.dtype, device=config.device)
    if output.dry_run:
        from depthlaw.probe.estimate import estimate

        output.emit_plan(config, estimate(lm, source, config).lines())
        return ExitCode.DONE
    result = probe(
        lm,
        source,
        config=config,
        out=output.out,
        resume=output.resume,
        progress=_progress(),
        also_write=lambda run, result: write_probe_files(run, result, lm.tokenizer.decode),
    )
    output.emit(probe_payload(result, described(result)), probe_text(result))
    return ExitCode.DONE


def _progress() -> Callable[[int, int], None]:
    """Return what tells how far the pass is: a line that is rewritten on a terminal, else one every 30 s."""
    started = last = time.monotonic()
    terminal = sys.stderr.isatty()

    def tell(documents: int, tokens: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < (0.5 if terminal else _EVERY):
            return
        last = now
        said = f"{documents} documents, {tokens} tokens, {tokens / (now - started):.0f} tokens/s"
        if terminal:
            sys.stderr.write(f"\r{said}\x1b[K")
            sys.stderr.flush()
        else:
            note(said)

    return tell
