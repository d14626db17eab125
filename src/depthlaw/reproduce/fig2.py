"""Fig. 2a to 2e, or why they cannot run here: they need torch, transformers, a model and a text.

Which letter is which panel is our own reading; the titles say what each shows.
"""

from __future__ import annotations

import importlib.util
from functools import partial

from depthlaw.reproduce.outcome import Outcome
from depthlaw.reproduce.probe_inputs import for_depths, for_layers
from depthlaw.reproduce.registry import Scale, select

_DEPTHS = 3  # models of different depth, for a power law with two parameters


def run(name: str, scale: Scale) -> Outcome:
    """Run an experiment, or skip it with the reason."""

    def skipped(why: str, notices: tuple[str, ...] = ()) -> Outcome:
        return Outcome(name, select([name])[0].title, "", skipped=why, notices=notices)

    if absent := [package for package in ("torch", "transformers") if not importlib.util.find_spec(package)]:
        return skipped(f"{' and '.join(absent)} not installed: pip install 'depthlaw[llm]'")
    family = name == "fig2e"
    choice = for_depths(scale) if family else for_layers(scale)
    if not choice.models:
        return skipped("no model can be had here, neither the paper's nor another", choice.missing)
    if choice.text is None:
        return skipped("no text can be had: set DEPTHLAW_DATA to a folder that holds text/", choice.missing)
    if family and len(choice.models) < _DEPTHS:
        names = ", ".join(model.name for model in choice.models)
        return skipped(
            f"a power law over depths needs three models of different depth, and only {names} can be had",
            choice.missing,
        )
    # Only now: both load torch.
    if family:
        from depthlaw.reproduce.probe_family import fig2e as made

        return made(choice, scale)
    from depthlaw.reproduce.probe_figures import run as make

    return make(name, choice, scale)


fig2a, fig2b, fig2c, fig2d, fig2e = (
    partial(run, name) for name in ("fig2a", "fig2b", "fig2c", "fig2d", "fig2e")
)
