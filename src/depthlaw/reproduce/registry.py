"""The experiments of the paper by id; a prefix selects all that begin with it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from depthlaw.errors import unknown_name
from depthlaw.reproduce.outcome import Outcome

Scale = Literal["smoke", "small", "paper"]
"""How much of an experiment to run: seconds, minutes, or the paper's own protocol."""


@dataclass(frozen=True)
class Experiment:
    """An entry of the registry.

    Attributes
    ----------
    id
        As in the paper: ``fig2f``.
    title
        What it shows, one line.
    place
        ``module:function`` that runs it, imported on use; it takes a `Scale` and returns an `Outcome`.
    needs
        What it runs on, see `depthlaw.reproduce.inputs`.
    shares
        Experiments with the same word read the same training runs, and run one after the other.
    """

    id: str
    title: str
    place: str
    needs: tuple[str, ...] = ()
    shares: str = ""

    def run(self, scale: Scale) -> Outcome:
        """Run the experiment."""
        module, _, function = self.place.partition(":")
        runner: Callable[[Scale], Outcome] = getattr(importlib.import_module(module), function)
        return runner(scale)


EXPERIMENTS = (
    *(
        Experiment(
            id,
            f"{title} (panel letter ours)",
            f"depthlaw.reproduce.fig2:{id}",
            needs=("models", "text", "torch"),
            shares="probe",
        )
        for id, title in (
            ("fig2a", "Angles between neighbouring states of a token, block by block"),
            ("fig2b", "Principal components of the tokens' angles: even tokens and early stoppers"),
            ("fig2c", "Angles between neighbouring updates, block by block"),
            ("fig2d", "Prediction of the next token read at every layer"),
            ("fig2e", "Mean angle between neighbouring states in the middle, against depth over models"),
        )
    ),
    Experiment(
        "fig2f",
        "Loss of language models against depth: the decomposed scaling law",
        "depthlaw.reproduce.fig2f:run",
        needs=("chinchilla",),
    ),
    Experiment(
        "appB3",
        "How sure is the depth exponent: bootstrap, held-out splits, excluded rows, depth - 2",
        "depthlaw.reproduce.appb3:run",
        needs=("chinchilla",),
    ),
    Experiment(
        "fig3b",
        "Loss of students against depth: independent blocks average, equal blocks discretise",
        "depthlaw.reproduce.laboratory:fig3b",
        needs=("torch",),
        shares="kl",
    ),
    Experiment(
        "fig4a",
        "Tied teachers: loss against depth at every temperature",
        "depthlaw.reproduce.laboratory:fig4a",
        needs=("torch",),
        shares="kl-long",
    ),
    Experiment(
        "fig4b",
        "Tied teachers: the depth exponent over training time",
        "depthlaw.reproduce.laboratory:fig4b",
        needs=("torch",),
        shares="kl-long",
    ),
    Experiment(
        "fig4c",
        "The depth exponent against temperature",
        "depthlaw.reproduce.laboratory:fig4c",
        needs=("torch",),
        shares="kl",
    ),
    Experiment(
        "fig5",
        "Squared error: the depth exponent over training time, and the states of trained students",
        "depthlaw.reproduce.laboratory:fig5",
        needs=("torch",),
    ),
    Experiment(
        "fig6",
        "Causal tracing: an early group of states at the subject, a late one at the last token",
        "depthlaw.reproduce.fig6:run",
        needs=("traced", "torch"),
    ),
    Experiment(
        "appC3",
        "Midpoint blocks: the depth exponent over training time",
        "depthlaw.reproduce.laboratory:appC3",
        needs=("torch",),
    ),
    Experiment(
        "theory",
        "How errors of blocks add up: averaging, discretisation, integration",
        "depthlaw.reproduce.laboratory:theory",
        needs=("torch",),
    ),
)


def select(ids: Sequence[str]) -> tuple[Experiment, ...]:
    """Return the experiments that ``ids`` name, all for none; ``fig4`` stands for fig4a, fig4b, fig4c.

    Raises
    ------
    UsageError
        For an id that is neither an experiment nor the beginning of one.
    """
    if not ids:
        return EXPERIMENTS
    for name in ids:
        if not any(e.id.casefold().startswith(name.casefold()) for e in EXPERIMENTS):
            raise unknown_name("experiment", name, [e.id for e in EXPERIMENTS])
    return tuple(e for e in EXPERIMENTS if any(e.id.casefold().startswith(n.casefold()) for n in ids))
