"""Layer plans on students of the laboratory, as text, for programs, and as files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from depthlaw.errors import Notice
from depthlaw.report.ablate import (
    agreement_text,
    costs_by_place,
    neighbours_text,
    students_lines,
    swaps_lines,
)
from depthlaw.report.text import number, table

if TYPE_CHECKING:
    import pyarrow as pa

    from depthlaw.data.store import Run
    from depthlaw.interventions.costs import PlanCosts
    from depthlaw.lab.trained import Trained

NO_EFFECT = 1e-12
"""Mean square or KL below which a plan has done nothing: float32 states are no better than 1e-6."""

PANELS = 4
"""Students drawn at most."""

_HEAD = ["plan", "executed", "Δ loss", "Δ / loss", "±", "change / loss", "±"]


@dataclass(frozen=True)
class StudentPlans:
    """Plans on students of one run.

    Attributes
    ----------
    run
        Folder, as the user named it.
    loss
        ``mse`` or ``kl``.
    found
        Each student with what the plans cost it.
    """

    run: str
    loss: str
    found: tuple[tuple[Trained, PlanCosts], ...]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader must know."""
        said = []
        for student, costs in self.found:
            for plan, far in zip(costs.plans, costs.distance, strict=True):
                name = f'plan "{plan.name}" ({plan.text()}) on {label(student)}'
                if plan.is_identity(costs.depth):
                    said.append(Notice("identity", f"{name} is the intact student."))
                elif far <= NO_EFFECT:
                    said.append(Notice("no-effect", f"{name} has no effect at all: take it for a bug first."))
        return tuple(said)

    def to_table(self) -> pa.Table:
        """Return one row a student and plan."""
        import pyarrow as pa

        who = pa.schema(
            [
                ("replica", pa.int64()), ("rho", pa.float64()), ("temperature", pa.float64()),
                ("depth", pa.int64()),
            ]
        )  # fmt: skip
        parts = []
        for student, costs in self.found:
            plans = costs.to_table()
            own = pa.Table.from_pylist([{n: getattr(student, n) for n in who.names}] * len(plans), who)
            for name in reversed(own.column_names):
                plans = plans.add_column(0, own.schema.field(name), own.column(name))
            parts.append(plans)
        return pa.concat_tables(parts)


def label(student: Trained) -> str:
    """Name a student: ``replica 0, rho 1, depth 48``."""
    at = "" if student.temperature is None else f"temperature {student.temperature:g}, "
    return f"replica {student.replica}, rho {student.rho:g}, {at}depth {student.depth}"


def students_text(result: StudentPlans) -> str:
    """Every student: its plans with their order and cost, the criteria's ranks, the test of averaging."""
    far = "KL(student ‖ changed)" if result.loss == "kl" else "mean square change of the output"
    text = f"Blocks count from 0; both ends of a range run. Change: {far}.\n"
    for student, costs in result.found:
        text += (
            f"\n{label(student)}: {result.loss} {number(costs.intact)} on {costs.samples} fresh inputs\n\n"
            + table(_rows(costs), _HEAD)
        )
        parts = (agreement_text(costs.agreement(1)), averaging_text(costs, result.loss))
        text += "".join(f"\n{part}" for part in parts if part)
    notices = "".join(f"note: {notice.message}\n" for notice in result.notices)
    return text + (f"\n{notices}" if notices else "")


def _rows(costs: PlanCosts) -> list[list[str]]:
    return [
        [
            row["name"],
            row["order"],
            number(row["delta_loss"], digits=3),
            *_over(costs.intact, row["delta_loss"], row["delta_loss_stderr"]),
            *_over(costs.intact, row["distance"], row["distance_stderr"]),
        ]
        for row in costs.to_table().to_pylist()
    ]


def _over(loss: float, value: float, error: float) -> tuple[str, str]:
    return number(value / loss, error / loss), number(error / loss, digits=2)


def averaging_text(costs: PlanCosts, loss: str) -> str:
    """Prediction beside measurement, in words; empty when no plan tests it."""
    lines = []
    skips, swaps = costs.skips, costs.swaps
    if skips is not None:
        relative = [number(value / costs.intact, digits=3) for value in (skips.mean, skips.median)]
        ends = [number(value / costs.intact, digits=2) for value in (skips.lowest, skips.highest)]
        lines += [
            f"skipping one of {skips.blocks} middle blocks costs {relative[0]} times the loss on average",
            f"  median {relative[1]}, {ends[0]} to {ends[1]}; sd/mean {number(skips.variation, digits=2)}",
            f"  averaging predicts {number(skips.predicted / costs.intact, digits=2)}, evenly, for one "
            "block less, retrained: 1/(ℓ − 1) of it",
            *students_lines("of 6,000 steps"),
        ]
    if swaps is not None and skips is not None and 1 in swaps.distances:
        lines.append(neighbours_text(costs.plans, costs.cost, costs.depth, skips.mean))
    if swaps is not None:
        relative_cost = tuple(cost / costs.intact for cost in swaps.cost)
        what = "KL over loss" if loss == "kl" else "mean square change over loss"
        lines += swaps_lines(replace(swaps, cost=relative_cost), what)
    return "".join(f"{line}\n" for line in lines)


def students_payload(result: StudentPlans) -> dict[str, Any]:
    """The same for programs."""
    return {
        "run": result.run,
        "loss": result.loss,
        "students": [_student_payload(student, costs) for student, costs in result.found],
        "warnings": [{"code": n.code, "message": n.message, "rows": list(n.rows)} for n in result.notices],
    }


def _student_payload(student: Trained, costs: PlanCosts) -> dict[str, Any]:
    agreement = costs.agreement(1)
    return {
        "replica": student.replica,
        "rho": student.rho,
        "temperature": student.temperature,
        "depth": student.depth,
        "n_samples": costs.samples,
        "intact": costs.intact,
        "plans": [
            {**row, "executed": plan.listing()}
            for row, plan in zip(costs.to_table().to_pylist(), costs.plans, strict=True)
        ],
        "criteria": {name: values.tolist() for name, values in costs.criteria.window(1).items()},
        "agreement": {"names": agreement.names, "correlation": agreement.correlation.tolist()},
        "averaging": {"skips": costs.skips, "swaps": costs.swaps},
    }


def write_students(run: Run, result: StudentPlans) -> None:
    """Write table, summary and figures into a run folder.

    Raises
    ------
    OutputError
        When a file cannot be written.
    """
    run.write_table("plans.parquet", result.to_table())
    run.write_json("result.json", students_payload(result))
    run.write_text("ablate.txt", students_text(result))
    for files in students_figures(result).values():
        for file, data in files.items():
            run.write_bytes(file, data)


def students_figures(result: StudentPlans) -> dict[str, dict[str, bytes]]:
    """Costs by place relative to the loss, and swaps by distance, a panel a student; name → files."""
    from depthlaw.plots.plans import draw_costs, draw_swaps
    from depthlaw.plots.style import figure, rendered

    drawn = {}
    placed = [
        (student, costs, places)
        for student, costs in result.found
        if (places := costs_by_place(costs.to_table().to_pylist(), "delta_loss", costs.intact))
    ][:PANELS]
    if placed:
        with figure(len(placed), size=(3.6 * len(placed), 3.2)) as (made, axes):
            for ax, (student, costs, places) in zip(axes, placed, strict=True):
                predicted = None if costs.skips is None else costs.skips.predicted / costs.intact
                draw_costs(ax, places, costs.depth, predicted=predicted, what="change of loss / loss")
                ax.set_title(label(student))
            drawn["plans"] = rendered(made, "plans")
    swapped = [
        (student, swaps)
        for student, costs in result.found
        if (swaps := costs.swaps) is not None and len(swaps.distances) > 1
    ][:PANELS]
    if swapped:
        what = "KL (nats)" if result.loss == "kl" else "mean square change of the output"
        with figure(len(swapped), size=(3.6 * len(swapped), 3.0)) as (made, axes):
            for ax, (student, swaps) in zip(axes, swapped, strict=True):
                draw_swaps(ax, swaps.distances, swaps.cost, swaps.stderr, what=what)
                ax.set_title(label(student))
            drawn["swaps"] = rendered(made, "swaps")
    return drawn
