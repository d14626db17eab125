"""What a probe leaves in its run folder besides tables: text, figures, examples of tokens that stop early."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from depthlaw.plots.probe import draw_angles, draw_glance, draw_lens, draw_similarity, layer_curve
from depthlaw.plots.style import figure, rendered
from depthlaw.plots.trajectories import draw_plane, draw_trajectories
from depthlaw.probe.examples import examples_of
from depthlaw.report.probe import probe_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from depthlaw.data.store import Run
    from depthlaw.probe.result import ProbeResult

_WIDE = (5.2, 2.7)


def write_probe_files(run: Run, result: ProbeResult, decode: Callable[[list[int]], str]) -> None:
    """Write the text, draw the figures that the result supports, show tokens of the early cluster in context.

    Parameters
    ----------
    decode
        Ids to text, as the model's tokenizer does it.
    """
    run.write_text("probe.txt", probe_text(result))
    for name, draw in _figures(result):
        with figure(size=_WIDE if name == "glance" else None) as (drawn, axes):
            draw(axes[0])
            for file, data in rendered(drawn, name).items():
                run.write_bytes(f"figures/{file}", data)
    run.write_json("examples.json", {"examples": examples_of(result, decode)})


def _figures(result: ProbeResult) -> Iterator[tuple[str, Callable[[Axes], object]]]:
    states = layer_curve(result, "theta_state")
    updates = layer_curve(result, "theta_update") if result.depth > 1 else None
    normed = "theta_state_normed" in result.quantities
    last = float(result.layers("theta_state_normed")[0]) if normed else None
    yield "glance", lambda ax: draw_glance(ax, states, updates)
    yield "angles", lambda ax: draw_angles(ax, states, normed_last=last)
    if updates is not None:
        yield "updates", lambda ax: draw_angles(ax, updates)
    if "lens_ce" in result.quantities:
        lens = layer_curve(result, "lens_ce")
        yield "lens", lambda ax: draw_lens(ax, lens)
    found = result.trajectories
    if found is not None:
        yield "trajectories", lambda ax: draw_trajectories(ax, found)
        if found.points.shape[1] > 1:
            yield "plane", lambda ax: draw_plane(ax, found)
    every, rest = result.gathered.relations("all"), result.gathered.relations("rest")
    for name, cka, label in (("cka", every.cka, "CKA"), ("cka_rest", rest.cka, "CKA without first tokens")):
        if cka is not None:
            yield name, partial(draw_similarity, matrix=cka.value, label=label)
    if every.distance is not None:
        yield "distance", partial(draw_similarity, matrix=every.distance, label="angle (half turns)")
