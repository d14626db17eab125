"""``depthlaw trace``: which states bring a fact back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.progress import Counter
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.errors import ExitCode, UsageError
from depthlaw.interventions.trace_config import TraceConfig

DEFAULTS = TraceConfig()


def trace_command(
    model: str,
    /,
    *,
    prompt: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    subject: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    target: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    occurrence: Annotated[int | None, Parameter(metavar="N")] = None,
    prompts: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    config: Annotated[TraceConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Corrupt the subject of a prompt, restore one state at a time, and read how likely the target becomes.

    Parameters
    ----------
    model
        Folder, GGUF file, name of a folder in $DEPTHLAW_MODELS, or model id of the Hugging Face hub.
    prompt
        A text such as "The Space Needle is in downtown Seattle"; it may also end before the target.
    subject
        The part of the prompt that is corrupted.
    target
        What should follow.
    occurrence
        Which occurrence of the subject is meant, from 1, when there are several.
    prompts
        Instead of these: JSON lines or a JSON list of prompts with subject and target, the public list of
        known facts too.
    """
    from depthlaw.interventions.prompts import Prompt, read_prompts
    from depthlaw.interventions.trace import causal_trace, place_all
    from depthlaw.models.opening import language_model
    from depthlaw.report.trace import trace_payload, trace_text, write_trace

    if prompts is not None:
        if any(given is not None for given in (prompt, subject, target, occurrence)):
            raise UsageError("--prompts excludes --prompt, --subject, --target and --occurrence.")
        chosen = read_prompts(prompts)
    elif prompt is not None and subject is not None and target is not None:
        chosen = (Prompt(prompt, subject, target, occurrence=occurrence),)
    else:
        given = {"--prompt": prompt, "--subject": subject, "--target": target}
        missing = [flag for flag, value in given.items() if value is None]
        raise UsageError(
            f"what is to be traced? ({' and '.join(missing)} missing)",
            "Give --prompt, --subject and --target, or a file with --prompts.",
        )
    lm = language_model(model, config)
    if output.dry_run:
        placed = place_all(lm, chosen[: config.limit], config)
        cells = sum(lm.depth * (p.predict + 1) * len(config.restore) for p in placed)
        steps = [f"restore {cells} states of {len(placed)} prompts in {config.samples} draws on {lm.name}"]
        output.emit_plan(config, steps)
        return ExitCode.DONE
    with Counter("{:.1f} of {} prompts") as progress:
        result = causal_trace(
            lm,
            chosen,
            config=config,
            out=output.out,
            resume=output.resume,
            progress=progress,
            finish=write_trace,
        )
    if output.out is not None:
        note(f"wrote {output.out}")
    output.emit(trace_payload(result), trace_text(result))
    return ExitCode.DONE
