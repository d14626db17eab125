"""``depthlaw ablate``: what a model does with its blocks skipped, swapped, repeated or reordered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from depthlaw.cli.ablate_students import ablate_students, refuse_students
from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.progress import Counter
from depthlaw.cli.settings import NO_FILE, SETTINGS, ConfigFile
from depthlaw.data.manifest import NAME as MANIFEST
from depthlaw.errors import ExitCode, UsageError
from depthlaw.interventions.ablate_config import AblateConfig

DEFAULTS = AblateConfig()


def ablate_command(
    model: str,
    /,
    *,
    text: Annotated[str | None, Parameter(metavar="SOURCE", allow_leading_hyphen=True)] = None,
    save: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    config: Annotated[AblateConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Run a model with its blocks in another order, and measure what that costs.

    Nothing of the model is edited: each block keeps its own attention kind, masks and positions, and no cache
    is used. Blocks count from 0, and both ends of a range run. Language models are measured on a text,
    students of a laboratory run on fresh inputs of their own task.

    Parameters
    ----------
    model
        Folder, GGUF file, name of a folder in $DEPTHLAW_MODELS, or model id of the Hugging Face hub; or the
        folder of a run of depthlaw lab.
    text
        For a language model: file (.txt .jsonl .parquet .csv, also gzip or zstd), folder, "-" for standard
        input, or a data set of the hub as hf:org/name.
    save
        Save the model of the only plan, or of --drop, here; it is loaded again and checked.
    """
    if (Path(model) / MANIFEST).is_file():
        return ablate_students(Path(model), text, save, config, output)
    refuse_students(config, model)
    if text is None:
        raise UsageError("a language model needs a text to be measured on.", "Give --text SOURCE.")
    from depthlaw.interventions.ablate import ablate
    from depthlaw.interventions.generators import expand_plans
    from depthlaw.interventions.pruning import best_drop
    from depthlaw.models.opening import language_model
    from depthlaw.report.ablate import ablate_payload, ablate_text, write_ablate

    source = config.open(text)
    lm = language_model(model, config)
    plans = expand_plans(config.texts, lm.depth, samples=config.samples, seed=config.seed)
    if save is not None and config.drop is None and len(plans) > 1:
        raise UsageError(f"--save needs one plan, not {len(plans)}.", "Or --drop K, which finds one.")
    if save is not None:
        from depthlaw.interventions.saving import refuse_full, save_plan

        refuse_full(save)
    if output.dry_run:
        steps = [f"run {plan.name}: {plan.listing()}" for plan in plans]
        output.emit_plan(config, steps)
        return ExitCode.DONE
    with Counter("{:.1f} documents, {} tokens") as progress:
        result = ablate(
            lm,
            source,
            config=config,
            out=output.out,
            resume=output.resume,
            progress=progress,
            finish=write_ablate,
        )
    if output.out is not None:
        note(f"wrote {output.out}")
    if save is not None:
        plan = plans[0] if config.drop is None else best_drop(result, config.drop).plan
        save_plan(lm, plan, save)
        note(f"saved {plan.text()} in {save}, loaded it again and checked it")
    output.emit(ablate_payload(result), ablate_text(result))
    return ExitCode.DONE
