"""Plans by name: ``skip each``, ``swap distance 4``, ``reverse middle``, one or many at a time.

The middle is what the probe calls so: all blocks but the first and the last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from depthlaw.errors import UsageError, did_you_mean
from depthlaw.interventions.plan import Plan, order, parse_plan

GENERATORS = (
    "skip each",
    "skip window K",
    "swap neighbours",
    "swap distance D",
    "repeat each",
    "reverse middle",
    "parallel middle",
    "shuffle middle",
)
"""What a plan may be called instead of being spelled out."""


def expand_plans(texts: Sequence[str], depth: int, *, samples: int = 5, seed: int = 0) -> tuple[Plan, ...]:
    """Turn what a user wrote into plans for a network.

    Parameters
    ----------
    texts
        Orders (see `parse_plan`) and names of generators, mixed as wished.
    depth
        Blocks of the network.
    samples
        How many orders ``shuffle middle`` draws.
    seed
        Of these draws.

    Raises
    ------
    UsageError
        For a name that is none, a number that does not fit the depth, or a plan that gives nothing.
    """
    plans: list[Plan] = []
    for text in texts:
        words = " ".join(text.replace("--samples", " samples ").split()).casefold()
        plans += [parse_plan(text, depth)] if not words[:1].isalpha() else _named(words, depth, samples, seed)
    # The same order under the same name says the same twice, and costs twice.
    return tuple(dict.fromkeys(plans))


def _named(words: str, depth: int, samples: int, seed: int) -> list[Plan]:
    form, number = _split(words)
    if form == "shuffle middle" and number is not None:
        samples = number
    made = {
        "skip each": lambda _: skips(depth, 1),
        "skip window": lambda k: skips(depth, k),
        "swap neighbours": lambda _: swaps(depth, 1),
        "swap distance": lambda d: swaps(depth, d),
        "repeat each": lambda _: repeats(depth),
        "reverse middle": lambda _: [_middle("reverse middle", depth, "reverse")],
        "parallel middle": lambda _: [_middle("parallel middle", depth, "parallel")],
        "shuffle middle": lambda _: shuffles(depth, samples, seed),
    }
    make: Callable[[int], list[Plan]] | None = made.get(form)
    needs = form in ("skip window", "swap distance")
    if make is None or needs != (number is not None and form != "shuffle middle"):
        near = did_you_mean(words, GENERATORS)
        raise UsageError(
            f'plan "{words}" not found (have: {", ".join(GENERATORS)}, or an order such as "0-4,6-").',
            f"Did you mean {near}?" if near else None,
        )
    plans = make(number or 0)
    if not plans:
        raise UsageError(f'plan "{words}" gives nothing for a network of {depth} blocks.')
    return plans


def _split(words: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"([a-z ]+?)(?: samples)? (\d+)", words)
    form, number = (match[1], int(match[2])) if match else (words, None)
    return form.replace("neighbors", "neighbours"), number


def skips(depth: int, size: int) -> list[Plan]:
    """Every plan that leaves out ``size`` neighbouring blocks."""
    plans = []
    for first in range(depth - size + 1 if 0 < size < depth else 0):
        kept = [block for block in range(depth) if not first <= block < first + size]
        name = f"skip {first}" if size == 1 else f"skip {first}-{first + size - 1}"
        plans.append(Plan(name, order(kept), "skip", first, size))
    return plans


def swaps(depth: int, distance: int) -> list[Plan]:
    """Every plan that exchanges two blocks ``distance`` apart."""
    plans = []
    for first in range(depth - distance if distance > 0 else 0):
        blocks = list(range(depth))
        blocks[first], blocks[first + distance] = first + distance, first
        plans.append(Plan(f"swap {first} {first + distance}", order(blocks), "swap", first, distance))
    return plans


def repeats(depth: int) -> list[Plan]:
    """Every plan that runs one block twice in a row."""
    return [
        Plan(f"repeat {block}", order([*range(block + 1), *range(block, depth)]), "repeat", block)
        for block in range(depth)
    ]


def shuffles(depth: int, samples: int, seed: int) -> list[Plan]:
    """``samples`` plans with the middle in random order."""
    plans = []
    for sample in range(samples if depth > 3 else 0):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(sample,)))
        middle = rng.permutation(np.arange(1, depth - 1)).tolist()
        plans.append(Plan(f"shuffle {sample}", order([0, *middle, depth - 1]), "shuffle", 1))
    return plans


def _middle(name: str, depth: int, kind: str) -> Plan:
    if depth < 4:
        raise UsageError(f'plan "{name}" needs a middle of two blocks; the network has {depth} blocks.')
    middle = range(1, depth - 1)
    steps = order(reversed(middle)) if kind == "reverse" else (tuple(middle),)
    return Plan(name, ((0,), *steps, (depth - 1,)), kind, 1)
