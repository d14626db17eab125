"""What the numbers of a run table give away: copies, rounding, units that are not what they seem.

Each check returns one notice however many rows it is about, or ``None``. They are thresholds, chosen so that
tables of real training runs in the expected units raise none of them; each says where its threshold is from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.plausible import scale_notices
from depthlaw.errors import Notice

Column = NDArray[np.float64]

# Codes of the notices made here, which are made anew whenever rows are taken out of a table.
CONTENT_CODES = frozenset(
    {
        "duplicate-rows",
        "quantised-loss",
        "tokens-in-billions",
        "params-in-billions",
        "looks-like-logarithms",
        "scale-not-whole",
        "width-depth-swapped",
        "loss-looks-like-perplexity",
        "loss-looks-like-bits",
        "params-disagree",
    }
)

UNIT_APART = 1e-2  # params over 12 width² depth below which no shape of blocks explains it
LARGEST_VOCABULARY = 262_144  # tokens; ln of it is the loss of a uniform guess


def content_notices(
    columns: Mapping[str, Column],
    lines: NDArray[np.int64],
    units: Mapping[str, str],
    sources: Mapping[str, str],
    copies: NDArray[np.bool_],
    clustered: bool,
) -> tuple[Notice, ...]:
    """Return every notice about the numbers of a table.

    Parameters
    ----------
    columns
        Our name → (runs,).
    lines
        (runs,) line of each row in its source.
    units
        Our name → unit; a loss that is known to be in bits is not tested for it.
    sources
        Our name → header.
    copies
        (runs,) true for a row that is an exact copy of an earlier one (see ``find_copies``).
    clustered
        Whether the runs have cluster labels (copies then share one).
    """

    def rows(mask: NDArray[np.bool_]) -> tuple[int, ...]:
        return tuple(lines[mask].tolist())

    found = [
        _duplicates(copies, rows, clustered),
        _quantised(columns, copies),
        *scale_notices(columns, sources),
        _loss_unit(columns, units.get("loss", "")),
        _params_disagree(columns, rows),
    ]
    return tuple(notice for notice in found if notice is not None)


def find_copies(keys: Sequence[NDArray[np.float64] | NDArray[np.str_]], n_rows: int) -> NDArray[np.bool_]:
    """Return (rows,): true where a row equals an earlier one in every key, NaN counting as equal to NaN.

    Parameters
    ----------
    keys
        Columns (rows,) that tell rows apart.
    """
    codes = [np.unique(key, return_inverse=True)[1] for key in keys]
    copies = np.ones(n_rows, dtype=bool)
    if codes:
        _, first = np.unique(np.stack(codes, axis=1), axis=0, return_index=True)
        copies[first] = False
    return copies


def _duplicates(
    copies: NDArray[np.bool_], rows: Callable[[NDArray[np.bool_]], tuple[int, ...]], clustered: bool
) -> Notice | None:
    if not copies.any():
        return None
    what = f"{copies.sum()} of {len(copies)} rows are exact copies of other rows"
    if clustered:
        message = f"{what}; they share their clusters, so they do not shrink errors by cluster"
    else:
        message = (
            f"{what}: errors shrink as if they were independent runs "
            "(--drop-duplicates leaves them out, --cluster COLUMN says which rows are one run)"
        )
    return Notice("duplicate-rows", message, rows(copies))


def _quantised(columns: Mapping[str, Column], copies: NDArray[np.bool_]) -> Notice | None:
    """Few distinct losses: at least 20 different rows, and half as many values or fewer.

    Losses of training runs are practically never equal to all digits; values read off a figure or rounded
    are (the reconstructed Chinchilla table has 99 values in 245 rows).
    """
    if "loss" not in columns:
        return None
    loss = columns["loss"][~copies]
    distinct = len(np.unique(loss))
    if len(loss) < 20 or distinct > len(loss) / 2:
        return None
    message = (
        f"{len(loss)} rows hold only {distinct} distinct losses: rounded, or read off a figure; "
        "equal losses in different runs are a limit on what a fit can resolve"
    )
    return Notice("quantised-loss", message)


def _loss_unit(columns: Mapping[str, Column], unit: str) -> Notice | None:
    """Perplexity or bits, by the header if it says so, else by what losses in nats can be.

    Perplexity: a tenth of the rows above ln 262,144 = 12.5, worse than a uniform guess over the largest
    vocabularies in use, or the best run above 7 nats; one diverged run is no evidence.

    Bits cannot be told from nats by their size alone (both lie between 2 and 6). With width, depth and
    tokens known there is weak evidence: published fits say what loss in nats a transformer of that size
    reaches on web text (Hoffmann et al. 2022, table A.3: 1.69 + 406.4/N^.34 + 410.7/D^.28, here with
    N = 12 width² depth). Over Chinchilla, Gemstones, OLMo and Gadre et al. the median of loss/expected is
    .97 to 1.18; in bits it would be 1.44 times that. The notice is given above 1.35 with four fifths of the
    rows between 1.25 and 1.9, and says "may".
    """
    if "loss" not in columns:
        return None
    loss = columns["loss"]
    if unit == "perplexity":
        message = "losses are perplexities by the name of their column: fit ln(perplexity), the loss in nats"
        return Notice("loss-looks-like-perplexity", message)
    if unit.startswith("bits"):
        message = (
            f"losses are {unit} by the name of their column: coefficients and floor are in {unit}; "
            "exponents do not depend on the unit"
        )
        return Notice("loss-looks-like-bits", message)
    worst = np.log(LARGEST_VOCABULARY)
    if np.mean(loss > worst) >= 0.1 or _min(loss) > 7:
        message = (
            f"losses run from {np.nanmin(loss):.4g} to {np.nanmax(loss):.4g}, as perplexities do: a uniform "
            f"guess costs {worst:.1f} nats at most; if so, fit their logarithms"
        )
        return Notice("loss-looks-like-perplexity", message)
    if not {"width", "depth", "tokens"} <= columns.keys() or _max(columns["tokens"]) < 1e6 or len(loss) < 10:
        return None
    with np.errstate(all="ignore"):  # unchecked columns may hold zeros
        n_params = 12 * columns["width"] ** 2 * columns["depth"]
        ratio = loss / (1.69 + 406.4 / n_params**0.34 + 410.7 / columns["tokens"] ** 0.28)
        if not (np.median(ratio) > 1.35 and np.mean((ratio > 1.25) & (ratio < 1.9)) >= 0.8):
            return None
    message = (
        f"losses are about {np.median(ratio):.2f} times those usual for such models on web text in nats: "
        "they may be in bits (1.44 times); exponents do not depend on that, coefficients and floor do"
    )
    return Notice("loss-looks-like-bits", message)


def _params_disagree(
    columns: Mapping[str, Column], rows: Callable[[NDArray[np.bool_]], tuple[int, ...]]
) -> Notice | None:
    """Parameters that are not 12 width² depth within 25 %: embeddings counted, or blocks of another shape."""
    if not {"params", "width", "depth"} <= columns.keys():
        return None
    # float64 throughout: 65536² · 100 overflows int32 and is exact here
    with np.errstate(all="ignore"):
        ratio = columns["params"] / (12 * columns["width"] ** 2 * columns["depth"])
    usable = np.isfinite(ratio) & (ratio > 0)
    off = usable & (np.abs(ratio - 1) > 0.25)
    if not off.any():
        return None
    if np.median(ratio[usable]) < UNIT_APART:  # embeddings add parameters, and no block has so few
        message = (
            f"params are about {np.median(ratio[usable]):.0e} times 12 width² depth: "
            "they are in another unit, or width or depth is another quantity"
        )
        return Notice("params-disagree", message, rows(off))
    message = (
        f"params differ from 12 width² depth by more than 25 % in {off.sum()} of {usable.sum()} rows "
        f"({ratio[usable].min():.3g} to {ratio[usable].max():.3g} times it): embeddings counted, or blocks "
        "of another shape"
    )
    return Notice("params-disagree", message, rows(off))


def _max(column: Column) -> float:
    return float(np.nanmax(column, initial=-np.inf))


def _min(column: Column) -> float:
    return float(np.nanmin(column, initial=np.inf))
