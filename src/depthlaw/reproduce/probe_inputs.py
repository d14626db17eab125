"""Which models and which text Fig. 2a to 2e run on: the paper's where they can be had, else what is here."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from depthlaw.hub import kept_by_the_hub, why_not_reachable
from depthlaw.places import model_folders
from depthlaw.reproduce.registry import Scale
from depthlaw.reproduce.stand_in import local_models, local_text, size_of

LAYERS = ("EleutherAI/pythia-410m", "facebook/opt-125m", "Qwen/Qwen2.5-0.5B")
"""Models of the paper's scripts for Fig. 2a to 2d; published numbers are those of the first."""

SIZES = tuple(
    f"EleutherAI/pythia-{size}" for size in ("70m", "160m", "410m", "1b", "1.4b", "2.8b", "6.9b", "12b")
)
"""Models of Fig. 2e."""

SMALL_SIZES = SIZES[:3]
FINEWEB = "hf:HuggingFaceFW/fineweb"

LARGEST = {"smoke": 100e6, "small": 2e9, "paper": float("inf")}
"""Bytes of a model on this machine that stands in for those of the paper, by scale."""


@dataclass(frozen=True)
class Candidate:
    """A model to run.

    Attributes
    ----------
    name
        What to call it: ``pythia-410m``.
    place
        What `load_model` takes: a folder, or an id of the hub.
    own
        Whether it is one that the paper ran.
    """

    name: str
    place: str
    own: bool


@dataclass(frozen=True)
class Choice:
    """What there is to run on.

    Attributes
    ----------
    models
        In order; empty when there are none.
    text
        What `open_text` takes; ``None`` when there is none.
    missing
        What is left out or replaced, with the reason, one sentence each.
    """

    models: tuple[Candidate, ...]
    text: str | None
    missing: tuple[str, ...]


def for_layers(scale: Scale) -> Choice:
    """What Fig. 2a to 2d run on: the paper's models, or a single one in their place."""
    return _choose(LAYERS, scale, stand_ins=1)


def for_depths(scale: Scale) -> Choice:
    """What Fig. 2e runs on: the Pythia sizes, or every model of this machine."""
    return _choose(SIZES if scale == "paper" else SMALL_SIZES, scale, stand_ins=None)


def identity(scale: Scale) -> str:
    """Tell what would be run on from anything else."""
    models = {c.place: c for choice in (for_layers(scale), for_depths(scale)) for c in choice.models}
    return named(models.values())


def named(models: Iterable[Candidate]) -> str:
    """Name models so that one set is told from another; ``"none"`` for none.

    A folder has its size told too. A model of the hub has not: it is the same once it has been fetched and
    lies in the hub's cache, in a folder that is named after its commit.
    """
    return "; ".join(f"{c.name}{_size(Path(c.place), c.name)}" for c in models) or "none"


def _size(place: Path, name: str) -> str:
    return f", {size_of(place)} bytes" if place.name == name and place.is_dir() else ""


def text_identity(scale: Scale) -> str:
    """Tell the text that would be read from any other."""
    text, _ = _text(scale)
    if text is None or text == FINEWEB:
        return text or "none"
    return f"{Path(text).name}, {Path(text).stat().st_size} bytes"


def _choose(wanted: Sequence[str], scale: Scale, stand_ins: int | None) -> Choice:
    text, said = _text(scale)
    found = [] if scale == "smoke" else [c for model in wanted if (c := own(model)) is not None]
    names = {candidate.name for candidate in found}
    absent = [short for model in wanted if (short := model.rpartition("/")[2]) not in names]
    missing = [*said]
    if absent:
        why = "too large for scale smoke" if scale == "smoke" else why_not_reachable()
        missing.append(f"Skipped: {', '.join(absent)} ({why}).")
    if not found:
        here = local_models()
        small = [path for path in here if size_of(path) <= LARGEST[scale]]
        found = [Candidate(path.name, str(path), own=False) for path in small[:stand_ins]]
        missing += [
            f"Skipped: {path.name} ({size_of(path) / 1e9:.1g} GB, too large for scale {scale})."
            for path in here
            if path not in small
        ]
        if found:
            names_here = ", ".join(candidate.name for candidate in found)
            missing.append(
                f"{names_here} instead of the paper's models: no published number is comparable with "
                f"{'its' if len(found) == 1 else 'their'} own."
            )
    return Choice(tuple(found), text, tuple(missing))


def own(model: str) -> Candidate | None:
    """Find a model of the paper: a folder of its name, in the hub's cache, on the hub."""
    name = model.rpartition("/")[2]
    folder = next((root / name for root in model_folders() if (root / name / "config.json").is_file()), None)
    place = folder or kept_by_the_hub(model)
    if place is not None:
        return Candidate(name, str(place), own=True)
    return None if why_not_reachable() else Candidate(name, model, own=True)


def _text(scale: Scale) -> tuple[str | None, tuple[str, ...]]:
    """Choose the text, and say why it is not the paper's."""
    why = "it takes longer than scale smoke" if scale == "smoke" else why_not_reachable()
    if not why and importlib.util.find_spec("datasets") is None:
        why = "the package datasets is not installed"
    if not why:
        return FINEWEB, ()
    local = local_text()
    if local is None:
        return None, (f"Text: not FineWeb ({why}), and $DEPTHLAW_DATA holds no text.",)
    return str(local), (f"Text: {local.name} instead of FineWeb ({why}).",)
