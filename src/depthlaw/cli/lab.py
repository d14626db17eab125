"""``depthlaw lab``: train students on teachers whose way of using depth is known."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Token
from cyclopts.argument import ArgumentCollection

from depthlaw.cli.output import TO_TERMINAL, Output, note
from depthlaw.cli.settings import CONVENTIONS, NO_FILE, SETTINGS, ConfigFile
from depthlaw.errors import ExitCode
from depthlaw.lab.config import LabConfig

DEFAULTS = LabConfig()

LONG = 120.0
"""Seconds from which losing the work is worth a word."""
_WORTH_TIMING = 1e12
"""Floating-point operations that take seconds anywhere; less is not timed."""


def fill_from_preset(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Give every setting that neither a flag nor a file has the value of the preset that is named.

    Raises
    ------
    UsageError
        For a name that is not a preset's.
    """
    from depthlaw.data import config as configs
    from depthlaw.lab.presets import preset_data

    roots = [argument for argument in arguments if not argument.keys]
    chosen = next((root for root in roots if root.field_info.name == "preset"), None)
    settings = next((root for root in roots if root.field_info.name == "config"), None)
    if chosen is None or settings is None or not chosen.has_tokens:
        return
    name = chosen.tokens[0].value
    values = configs.present(LabConfig, preset_data(name), source=f"preset {name}")
    leaves = {leaf.keys: leaf for leaf in settings.children_recursive}
    for keys, value in values.items():
        if not leaves[keys].tokens:
            keyword = ".".join(keys)
            leaves[keys].append(Token(keyword=keyword, value=str(value), implicit_value=value, source=name))


lab_app = App(name="lab", config=(*CONVENTIONS, fill_from_preset))


@lab_app.default
def lab_command(
    preset: str | None = None,
    /,
    *,
    config: Annotated[LabConfig, SETTINGS] = DEFAULTS,
    file: ConfigFile = NO_FILE,
    output: Output = TO_TERMINAL,
) -> int:
    """Train residual networks on teachers whose blocks are independent, equal or in between.

    One teacher serves all depths and temperatures of a replicate, and its students are trained side by side.
    With --out a run can be interrupted at any moment; the same command goes on, bit for bit. Without it
    nothing is kept, and what will take minutes says so before it starts. Exits with 3
    when a student diverged (the others are trained to the end), with 130 when interrupted. A student that
    ends worse than untrained is a note.

    Parameters
    ----------
    preset
        Protocol to start from: kl-independent, kl-tied, kl-tied-long, mse, mse-shallow-teacher, mse-long,
        mse-midpoint. Any flag changes it.
    """
    from depthlaw.report.lab import lab_payload, lab_text, plan_lines

    if output.dry_run:
        output.emit_plan(config, plan_lines(config))
        return ExitCode.DONE

    if output.out is None:
        _note_if_long(config)
    from depthlaw.cli.lab_progress import shown_progress
    from depthlaw.lab.experiment import execute, run_options
    from depthlaw.lab.exponents import exponents, steps_tested
    from depthlaw.lab.fingerprints import fingerprints

    with output.run("lab", **run_options(config)) as run, shown_progress() as progress:
        result = execute(config, run, progress)
        found = exponents(result.test_batches, seed=config.seed)
        prints = fingerprints(config, result.networks)
        if run is not None and not run.complete:
            from depthlaw.report.lab_files import write_results

            steps = steps_tested(result.test_batches)
            over_time = exponents(result.test_batches, steps=steps, seed=config.seed)
            write_results(run, result, over_time, prints, lab_text(result, found, prints))
            note(f"wrote {run.folder}")
    output.emit(lab_payload(result, found, prints), lab_text(result, found, prints))
    return ExitCode.FAILED if result.diverged else ExitCode.DONE


def _note_if_long(config: LabConfig) -> None:
    """Say before long work that an interruption loses it."""
    from depthlaw.lab.plan import cost, seconds_per_step
    from depthlaw.report.lab import duration

    found = cost(config)
    if found.flops < _WORTH_TIMING:
        return
    total = seconds_per_step(config)[0] * config.steps * found.tasks
    if total >= LONG:
        note(
            f"note: this takes about {duration(total)} here, and nothing is kept if it is interrupted: "
            "--out DIR keeps it."
        )
