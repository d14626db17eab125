"""An ablation as text, for programs, and as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depthlaw.interventions.agreement import LEAST_PLACES
from depthlaw.interventions.averaging import STUDENTS, SWAP_IF_FLOW
from depthlaw.interventions.pruning import Drop, best_drop, mergekit_yaml
from depthlaw.plurals import counted
from depthlaw.report.text import number, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from depthlaw.data.store import Run
    from depthlaw.interventions.ablation import Ablation
    from depthlaw.interventions.agreement import Agreement
    from depthlaw.interventions.averaging import Swaps
    from depthlaw.interventions.plan import Plan

_HEAD = ["plan", "executed", "Δ loss", "±", "KL", "±", "top-1 same", "±"]


def ablate_text(result: Ablation) -> str:
    """Every plan with its order and cost, the criteria's ranks, the test of averaging, and what to drop."""
    rows = [
        [
            row["name"],
            row["order"],
            number(row["delta_ce"], row["delta_ce_stderr"]),
            number(row["delta_ce_stderr"], digits=2),
            number(row["kl"], row["kl_stderr"]),
            number(row["kl_stderr"], digits=2),
            number(row["agreement"], digits=3),
            number(row["agreement_stderr"], digits=2),
        ]
        for row in result.to_table().to_pylist()
    ]
    text = (
        f"{result.model}: {counted(result.depth, 'block')}, {result.dtype} · {result.text}: "
        f"{counted(result.n_documents, 'document')}, {counted(result.n_tokens, 'token')}; "
        f"intact {number(result.intact)} nats per token\n"
        "Blocks count from 0; both ends of a range run.\n\n"
    )
    text += table(rows, _HEAD)
    if result.enough:
        parts = (agreement_text(result.agreement(1)), averaging_text(result))
        text += "".join(f"\n{part}" for part in parts if part)
    if result.drop is not None:
        text += f"\n{drop_text(result, best_drop(result, result.drop))}"
    notices = "".join(f"note: {notice.message}\n" for notice in result.notices)
    return text + (f"\n{notices}" if notices else "")


def agreement_text(agreement: Agreement) -> str:
    """How far measured costs and criteria rank the blocks alike; empty when single skips were not all run."""
    if not {"delta_ce", "delta_loss"} & set(agreement.names):
        return ""
    if agreement.places < LEAST_PLACES:
        return f"no rank correlation: {agreement.places} single skips, of {LEAST_PLACES} at least\n"
    names = [name.replace("_", " ").replace("one minus cka", "1 − CKA") for name in agreement.names]
    rows = [
        [name, *(number(float(value), digits=2) for value in values)]
        for name, values in zip(names, agreement.correlation, strict=True)
    ]
    return f"rank correlation over {agreement.places} single skips\n{table(rows, ['', *names])}"


def averaging_text(result: Ablation) -> str:
    """Prediction beside measurement, in words; empty when no plan tests it."""
    lines = []
    if (skips := result.skips) is not None:
        c, alpha = result.depth_law
        lines += [
            f"skipping one of {skips.blocks} middle blocks costs {number(skips.mean, digits=3)} nats "
            "on average",
            f"  median {number(skips.median, digits=3)}, {number(skips.lowest, digits=2)} to "
            f"{number(skips.highest, digits=2)}; sd/mean {number(skips.variation, digits=2)}",
            f"  averaging predicts {number(skips.predicted, digits=2)}, evenly, for one block less, "
            "retrained; the depth term",
            f"  is {number(c, digits=3)}·ℓ^-{number(alpha, digits=3)} = {number(skips.depth_term, digits=2)}",
            *students_lines("of the laboratory"),
        ]
    swaps = result.swaps
    if swaps is not None and skips is not None and 1 in swaps.distances:
        lines.append(neighbours_text(result.plans, result.delta_ce, result.depth, skips.mean))
    if swaps is not None:
        lines += swaps_lines(swaps, "KL")
    return "".join(f"{line}\n" for line in lines)


def students_lines(which: str) -> list[str]:
    """What averaging students showed, in lines that a terminal holds."""
    costs, swap = STUDENTS.rsplit("; ", 1)
    return [f"  averaging students {which}, not retrained:", f"    {costs};", f"    {swap}"]


def swaps_lines(swaps: Swaps, what: str) -> list[str]:
    """How swaps go with the distance of the blocks, beside what each regime predicts."""
    shown = ", ".join(
        f"{number(cost, digits=3)} at {distance}"
        for distance, cost in zip(swaps.distances, swaps.cost, strict=True)
    )
    lines = [f"swapping two middle blocks gives {what} {shown}"]
    if np.isfinite(swaps.exponent):
        lines += [
            f"  it grows as distance^{number(swaps.exponent, swaps.exponent_stderr)} ± "
            f"{number(swaps.exponent_stderr, digits=2)}",
            f"  averaging predicts {number(swaps.averaging, digits=3)} over these distances (2d − 1), "
            f"a smooth flow {SWAP_IF_FLOW:g} (d⁴)",
        ]
    return lines


def neighbours_text(plans: Sequence[Plan], cost: NDArray[np.float64], depth: int, skip: float) -> str:
    """Mean cost of neighbour swaps within the middle, over that of a skip."""
    inside = [
        n
        for n, plan in enumerate(plans)
        if plan.kind == "swap" and plan.size == 1 and plan.first and plan.first + 1 < depth - 1
    ]
    ratio = float(np.nanmean(cost[inside])) / skip
    return f"swapping neighbours costs {number(ratio, digits=2)} times what skipping one costs"


def drop_text(result: Ablation, drop: Drop) -> str:
    """What to leave out, as a layer list and for mergekit."""
    others = ", ".join(
        f"{name.replace('_', ' ')} {first}-{first + len(drop.dropped) - 1}"
        for name, first in drop.by_criterion.items()
        if name != "delta_ce"
    )
    return (
        f"drop blocks {drop.dropped[0]}-{drop.dropped[-1]}: {number(drop.delta_ce, drop.stderr)} ± "
        f"{number(drop.stderr, digits=2)} nats per token (others would drop: {others})\n"
        f"layers: {' '.join(map(str, drop.kept))}\n\n{mergekit_yaml(drop.plan, result.model, result.dtype)}"
    )


def ablate_payload(result: Ablation) -> dict[str, Any]:
    """The same for programs."""
    agreement = result.agreement(1)
    drop = None if result.drop is None else best_drop(result, result.drop)
    return {
        "model": result.model,
        "text": result.text,
        "depth": result.depth,
        "dtype": result.dtype,
        "n_documents": result.n_documents,
        "n_tokens": result.n_tokens,
        "intact": result.intact,
        "plans": [
            {**row, "executed": plan.listing()}
            for row, plan in zip(result.to_table().to_pylist(), result.plans, strict=True)
        ],
        "criteria": {name: values.tolist() for name, values in result.criteria.window(1).items()},
        "agreement": {"names": agreement.names, "correlation": agreement.correlation.tolist()},
        "averaging": {"skips": result.skips, "swaps": result.swaps, "depth_law": result.depth_law},
        "drop": None
        if drop is None
        else {
            "blocks": drop.dropped,
            "layers": drop.kept,
            "delta_ce": drop.delta_ce,
            "delta_ce_stderr": drop.stderr,
            "by_criterion": drop.by_criterion,
            "mergekit": mergekit_yaml(drop.plan, result.model, result.dtype),
        },
        "warnings": [{"code": n.code, "message": n.message, "rows": list(n.rows)} for n in result.notices],
    }


def write_ablate(run: Run, result: Ablation) -> None:
    """Write summary and figures into a run folder; the tables are there already."""
    run.write_json("result.json", ablate_payload(result))
    run.write_text("ablate.txt", ablate_text(result))
    if result.drop is not None:
        drop = best_drop(result, result.drop)
        run.write_text("mergekit.yaml", mergekit_yaml(drop.plan, result.model, result.dtype))
    for files in ablate_figures(result).values():
        for file, data in files.items():
            run.write_bytes(file, data)


def ablate_figures(result: Ablation) -> dict[str, dict[str, bytes]]:
    """Costs by place, and swaps by distance, as files by figure; only those that the plans have data for."""
    from depthlaw.plots.plans import draw_costs, draw_swaps
    from depthlaw.plots.style import figure, rendered

    figures = {}
    costs = costs_by_place(result.to_table().to_pylist(), "delta_ce")
    if costs:
        skips = result.skips
        with figure(size=(5.6, 3.2)) as (made, axes):
            draw_costs(axes[0], costs, result.depth, predicted=None if skips is None else skips.predicted)
            figures["plans"] = rendered(made, "plans")
    if (swaps := result.swaps) is not None and len(swaps.distances) > 1:
        with figure(size=(3.8, 3.0)) as (made, axes):
            draw_swaps(axes[0], swaps.distances, swaps.cost, swaps.stderr)
            figures["swaps"] = rendered(made, "swaps")
    return figures


def costs_by_place(
    rows: Sequence[Mapping[str, Any]], name: str, scale: float = 1.0
) -> dict[str, tuple[list[float], list[float], list[float]]]:
    """Gather plans that concern one place: kind → first block, column ``name`` over ``scale``, its errors."""
    costs = {}
    for kind in ("skip", "swap", "repeat"):
        chosen = [
            r
            for r in rows
            if r["kind"] == kind
            and r["first"] is not None
            and r["size"] in (1, None)
            and np.isfinite(r[name])
        ]
        if chosen:
            costs[kind] = (
                [row["first"] for row in chosen],
                [row[name] / scale for row in chosen],
                [row[f"{name}_stderr"] / scale for row in chosen],
            )
    return costs
