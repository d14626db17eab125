"""``depthlaw probe``: how a language model uses its depth, on real text."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.progress import Counter
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.errors import ExitCode
from depthlaw.probe.config import ProbeConfig

DEFAULTS = ProbeConfig()


def probe_command(
    model: str,
    /,
    *,
    text: Annotated[str, Parameter(metavar="SOURCE", allow_leading_hyphen=True)],
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
    from depthlaw.models.opening import language_model
    from depthlaw.probe.run import described, probe
    from depthlaw.report.probe import probe_payload, probe_text
    from depthlaw.report.probe_files import write_probe_files

    source = config.open(text)
    lm = language_model(model, config)
    if output.dry_run:
        from depthlaw.probe.estimate import estimate

        output.emit_plan(config, estimate(lm, source, config).lines())
        return ExitCode.DONE
    with Counter("{} documents, {} tokens, {rate:.0f} tokens/s") as progress:
        result = probe(
            lm,
            source,
            config=config,
            out=output.out,
            resume=output.resume,
            progress=progress,
            finish=lambda run, result: write_probe_files(run, result, lm.tokenizer.decode),
        )
    if output.out is not None:
        note(f"wrote {output.out}")
    output.emit(probe_payload(result, described(result)), probe_text(result))
    return ExitCode.DONE
