"""Which column of a table is the width, which the depth, and so on, and in what unit."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from depthlaw.data.header_units import is_logarithm, split_unit
from depthlaw.errors import Notice, UsageError, unknown_name

QUANTITIES = ("width", "depth", "tokens", "params", "flops", "loss")

# In order of preference. Names of one capital letter must match exactly: "d" is as often a width.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "width": ("d_model", "n_embd", "hidden_size", "width", "model_dim"),
    "depth": ("n_layers", "n_layer", "num_hidden_layers", "depth"),
    "tokens": ("tokens", "num_tokens", "tokens_trained", "D"),
    "params": ("params", "N", "model_size", "num_params", "params_total"),
    "flops": ("flops", "flop", "flops_budget", "compute"),
    "loss": (
        *("loss", "val_loss", "validation_loss", "valid_loss", "eval_loss", "test_loss"),
        *("final_loss", "final_val_loss", "val_bpb", "bpb"),
    ),
}
_COUNTED = ("tokens", "params", "flops")  # quantities that headers give in billions
# An id comes before a name: names repeat over different runs. A bare "name" names a model as often as a run.
_STEPS = ("step", "global_step", "iter", "iteration", "checkpoint")  # not "steps": a run's length as often
CLUSTER_ALIASES = ("run_id", "run", "run_name", "wandb_run", "cluster")

UNITS: Mapping[str, str] = {
    "width": "units",
    "depth": "blocks",
    "tokens": "tokens",
    "params": "parameters",
    "flops": "FLOP",
    "loss": "nats per token",
    "weights": "relative weight",
    "cluster": "label",
}
_LOSS_UNITS = (  # what a header says about its unit, the first that is found
    (r"bpb|bits_per_byte", "bits per byte"),
    (r"bpc|bits_per_char(acter)?", "bits per character"),
    (r"bits|bits_per_token|bpt", "bits per token"),
    (r"ppl|perplexity|perplexities", "perplexity"),
)
_PREFIXES = ("", "summary_", "config_")  # as Weights & Biases exports them
_SUFFIX = re.compile(
    r"(?i)(^(config|summary)[\s\-./:_].+)[\s\-./:_]value$"
)  # and its API: config.d_model.value
_BRACKETED = re.compile(r"[)\]]$")


@dataclass(frozen=True)
class ColumnUse:
    """How one column of the source was understood.

    Attributes
    ----------
    name
        Ours: ``width depth tokens params flops loss weights cluster``.
    source
        The header in the source.
    unit
        ``"units"``, ``"blocks"``, ``"tokens"``, ``"nats per token"`` (taken for granted unless the header
        says otherwise), ``"bits per byte"`` …
    how
        ``"given"`` by the caller or ``"recognised"`` by its header.
    factor
        What its numbers are multiples of, by its header: 1e9 for ``tokens_B``.
    """

    name: str
    source: str
    unit: str
    how: str
    factor: float = 1.0

    @property
    def unit_words(self) -> str:
        """The unit as people are told it, with the factor that the header asked for."""
        return (
            self.unit
            if self.factor == 1.0
            else f"{self.unit}, × 1e{round(math.log10(self.factor))} by its header"
        )


@dataclass(frozen=True)
class Columns:
    """The columns of a table that were understood.

    Attributes
    ----------
    uses
        One for each quantity found, in the order of ``QUANTITIES``, then weights and cluster if given.
    ambiguous
        Quantity → headers that could be meant with equal right; none of them is used.
    notices
        Choices between several headers, one each.
    """

    uses: tuple[ColumnUse, ...]
    ambiguous: Mapping[str, tuple[str, ...]]
    notices: tuple[Notice, ...]


def understand(headers: Sequence[str], given: Mapping[str, str | None], source: str) -> Columns:
    """Find the columns of a table: those given, and the others by the names people use.

    Headers are compared without case, and with spaces, dashes, dots and slashes as ``_``; the prefixes
    ``config.`` and ``summary.`` of Weights & Biases are seen through, with or without its ``.value`` behind.
    Of several headers for one quantity the first in the order of ``ALIASES`` is taken, a bare one before a
    prefixed one.

    Parameters
    ----------
    headers
        Of the table, in its order.
    given
        Our name → header, or ``None`` to look for it. ``weights`` and ``cluster`` are never looked for here.
    source
        What the table was read from, for messages.

    Raises
    ------
    UsageError
        A given header is not in the table, or is given for two quantities.
    """
    uses: dict[str, ColumnUse] = {}
    for name, header in given.items():
        if header is None:
            continue
        header = str(header)  # data frames may count their columns
        if header not in headers:
            error = unknown_name("column", header, headers, flag=f"--{name}")
            raise UsageError(f"{source}: {error.message}", error.hint)
        uses[name] = ColumnUse(name, header, _unit(name, header), "given", _factor(name, header))
    taken = {use.source: use.name for use in uses.values() if use.name in QUANTITIES}
    for use in uses.values():
        if use.name in QUANTITIES and taken[use.source] != use.name:
            raise UsageError(
                f'{source}: column "{use.source}" is given as {use.name} and as {taken[use.source]}.'
            )
    ambiguous: dict[str, tuple[str, ...]] = {}
    notices: list[Notice] = []
    for name in QUANTITIES:
        if name in uses:
            continue
        ranked = sorted(
            (rank, position, header)
            for position, header in enumerate(headers)
            if header not in taken and (rank := _rank(header, name)) is not None
        )
        if not ranked:
            continue
        best = [header for rank, _, header in ranked if rank == ranked[0][0]]
        if len(best) > 1:
            ambiguous[name] = tuple(best)
            continue
        factor = _factor(name, best[0])
        uses[name] = ColumnUse(name, best[0], _unit(name, best[0]), "recognised", factor)
        if others := [header for _, _, header in ranked[1:]]:
            notices.append(_choice(name, best[0], others))
    order = [*QUANTITIES, "weights", "cluster"]
    return Columns(tuple(uses[name] for name in order if name in uses), ambiguous, tuple(notices))


def cluster_candidates(headers: Sequence[str]) -> list[str]:
    """Return the headers that may name the run a row belongs to, the most trusted first."""
    folded = [(header, _unprefixed(header)) for header in headers]
    return [header for alias in CLUSTER_ALIASES for header, name in folded if name == alias]


def step_column(headers: Sequence[str]) -> str | None:
    """Return the header that counts the steps of a training run, if any."""
    return next((header for header in headers if _unprefixed(header) in _STEPS), None)


def loss_advice(headers: Sequence[str]) -> str | None:
    """Say what to do where no column was taken for the loss and one is near; ``None`` where none is."""
    for header in headers:
        if _unit("loss", header) == "perplexity":
            return f'"{header}" is a perplexity: put its logarithm into a column loss, which is in nats.'
    near = next((h for h in headers if _looks_like(h, "loss") and not is_logarithm(h)), None)
    return None if near is None else f'If "{near}" is meant: --loss "{near}"'


def unused_columns(headers: Sequence[str], used: Mapping[str, str], names: Sequence[str]) -> Notice | None:
    """Return the notice about headers that look like a quantity and were not taken for it, if any.

    Parameters
    ----------
    headers
        Of the table, in its order.
    used
        Our name → header, of the columns that were understood.
    names
        The quantities to look for; those in ``used`` are passed over.
    """
    free = [header for header in headers if header not in used.values()]
    near = {name: [h for h in free if _looks_like(h, name)] for name in names if name not in used}
    parts = []
    for name, found in near.items():
        if found:
            listing = ", ".join(f'"{header}"' for header in found[:3]) + (", …" if len(found) > 3 else "")
            verb = "looks" if len(found) == 1 else "look"
            if all(map(is_logarithm, found)):
                parts.append(f"{listing} {verb} like the logarithm of {name}: give {name} themselves")
            else:
                parts.append(f'{listing} {verb} like {name}: --{name} "{found[0]}"')
    if not parts:
        return None
    return Notice("unused-columns", f"columns that are not used: {'; '.join(parts)}")


def _looks_like(header: str, name: str) -> bool:
    """Say whether an alias stands in the header, or is nearly it; a rate (tokens per second) is neither."""
    words = _unprefixed(header)
    if re.search(r"(^|_)(per|ps)(_|$)", words):
        return False
    aliases = [alias for alias in ALIASES[name] if len(alias) > 1]
    inside = any(f"_{alias}_" in f"_{words}_" for alias in aliases)
    return inside or bool(difflib.get_close_matches(words, aliases, n=1, cutoff=0.8))


def ambiguity(name: str, headers: Sequence[str], source: str) -> UsageError:
    """Build the error for a quantity that several headers could mean with equal right."""
    listing = ", ".join(headers[:6]) + (", …" if len(headers) > 6 else "")
    return UsageError(
        f"{source}: several columns could be the {name}: {listing}.", f"Say which: --{name} {headers[0]}"
    )


def _choice(name: str, chosen: str, others: Sequence[str]) -> Notice:
    listing = ", ".join(f'"{header}"' for header in others[:4]) + (", …" if len(others) > 4 else "")
    return Notice(
        "column-choice",
        f'{name} is read from "{chosen}", not from {listing}; to change that: --{name} "{others[0]}"',
    )


def fold(header: str) -> str:
    """Return a header as it is compared: lower case, and ``_`` for spaces, dashes, dots and slashes."""
    header = re.sub(r"[\s\-./:]+", "_", header.strip()).strip("_")
    return header if len(header) == 1 else header.casefold()


def _unprefixed(header: str) -> str:
    header = _SUFFIX.sub(r"\1", header.strip())
    folded = fold(header)
    for prefix in _PREFIXES[1:]:
        folded = folded.removeprefix(prefix)
    return folded if len(folded) > 1 else fold(re.split(r"[\s\-./:_]", header.strip())[-1])


def _rank(header: str, name: str) -> tuple[int, int] | None:
    """Return (place among the aliases, place among the prefixes), ``None`` for another quantity's header."""
    if is_logarithm(header):
        return None
    if name in _COUNTED or _BRACKETED.search(header):
        header = split_unit(header)[0]
    folded, bare = fold(header), _unprefixed(header)
    prefix = max(i for i, prefix in enumerate(_PREFIXES) if folded.startswith(prefix))
    if bare in ALIASES[name]:
        return ALIASES[name].index(bare), prefix
    if name == "params" and bare.startswith("params_"):
        return len(ALIASES["params"]), prefix  # params_no_embed, and the several params_* of nanochat
    return None


def _factor(name: str, header: str) -> float:
    return split_unit(header)[1] if name in _COUNTED else 1.0


def _unit(name: str, header: str) -> str:
    if name == "loss":
        words = re.sub(r"\W+", "_", fold(header))
        for pattern, unit in _LOSS_UNITS:
            if re.search(rf"(^|_)({pattern})(_|$)", words):
                return unit
    return UNITS[name]
