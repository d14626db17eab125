"""``depthlaw ablate`` on a run folder of ``depthlaw lab``: plans on its students."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path

from depthlaw.cli.output import Output, note
from depthlaw.cli.progress import Counter
from depthlaw.errors import ExitCode, UsageError
from depthlaw.interventions.ablate_config import AblateConfig

OF_STUDENTS = ("depth", "rho", "replica", "temperature")
OF_BOTH = ("plan", "samples", "seed")

_WHY_NOT = {
    "save": "Its students stay in their run; only a language model is saved with fewer blocks. Leave it out.",
    "drop": 'To leave out K neighbouring blocks of a student: --plan "skip window K".',
    "depth_law": "The depth term of a student is its own loss. Leave it out.",
}


def refuse_students(config: AblateConfig, model: str) -> None:
    """Refuse a choice of students where there are none.

    Raises
    ------
    UsageError
        When one was made.
    """
    if said := _set(config, OF_STUDENTS):
        raise UsageError(
            f"{_flag(said[0])} chooses a student, and {model} is not a run of depthlaw lab.", "Leave it out."
        )


def ablate_students(
    folder: Path, text: str | None, save: Path | None, config: AblateConfig, output: Output
) -> int:
    """Run plans on students of a laboratory run; see `depthlaw.cli.ablate.ablate_command`.

    Raises
    ------
    InputError
        When the folder holds another run.
    UsageError
        For settings that only a language model has.
    """
    from depthlaw.interventions.costs import COST_UNITS, kept_costs, plan_costs
    from depthlaw.interventions.generators import expand_plans
    from depthlaw.lab.metrics import UNITS
    from depthlaw.lab.trained import choose, load_students, open_lab_run
    from depthlaw.report.ablate_students import StudentPlans, students_payload, students_text, write_students

    lab = open_lab_run(folder)
    only_models = [field.name for field in fields(config) if field.name not in OF_STUDENTS + OF_BOTH]
    given = [name for name, value in (("text", text), ("save", save)) if value is not None]
    if said := [*given, *_set(config, only_models)]:
        raise UsageError(
            f"{_flag(said[0])} is for language models, and {folder} is a run of depthlaw lab.",
            _WHY_NOT.get(said[0], "Its students are tested on fresh inputs of their own task; leave it out."),
        )
    chosen = choose(
        lab, depth=config.depth, rho=config.rho, replica=config.replica, temperature=config.temperature
    )
    plans = [
        expand_plans(config.texts, key.depth, samples=config.samples, seed=config.seed) for _, key in chosen
    ]
    if output.dry_run:
        output.emit_plan(
            config,
            [
                f"run {plan.name} on {task.name}, {key.name}: {plan.listing()}"
                for (task, key), mine in zip(chosen, plans, strict=True)
                for plan in mine
            ],
        )
        return ExitCode.DONE
    units = {name: UNITS[name] for name in OF_STUDENTS} | COST_UNITS
    with (
        output.run("ablate", config=config, identity={"students": lab.identity}, units=units) as run,
        Counter("{} students, {} plans") as tell,
    ):
        found = []
        students = load_students(lab, chosen, draw=config.seed)
        for (task, key), student, mine in zip(chosen, students, plans, strict=True):
            measure = partial(
                plan_costs, student.stack, student.inputs, mine, student.loss, distance=student.distance
            )
            costs = kept_costs(run, f"{task.name}_{key.name}", mine, key.depth, measure)
            found.append((student, costs))
            tell(len(found), sum(len(costs.plans) for _, costs in found))
        result = StudentPlans(str(folder), lab.config.loss, tuple(found))
        if run is not None and not run.complete:
            write_students(run, result)
            note(f"wrote {run.folder}")
    output.emit(students_payload(result), students_text(result))
    return ExitCode.DONE


def _set(config: AblateConfig, names: tuple[str, ...] | list[str]) -> list[str]:
    """Return those of ``names`` that are not as by default."""
    return [name for name in names if getattr(config, name) != getattr(AblateConfig(), name)]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
