"""Share of tokens with an interval over documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtrit

from depthlaw.numerics.clusters import DocumentMeans


@dataclass(frozen=True)
class Share:
    """A share of tokens.

    Attributes
    ----------
    value
        In [0, 1].
    low, high
        Ends of its interval, NaN below two documents or where it is 0 or 1.
    stderr
        Over documents; NaN below two of them.
    count
        Tokens in it.
    """

    value: float
    low: float
    high: float
    stderr: float
    count: int


def share_of(member: ArrayLike, document: ArrayLike, level: float = 0.95) -> Share:
    """Share of tokens that are members.

    The interval is symmetric in the log odds, so that small shares keep within [0, 1]. Its width comes from
    the spread between documents: tokens of one are not independent. It is a quantile of Student's t with one
    degree of freedom less than documents, for a spread seen over few of them is itself uncertain.

    Parameters
    ----------
    member
        (tokens,) bool.
    document
        (tokens,) which document each is of.
    level
        Confidence of the interval.
    """
    inside = np.asarray(member, dtype=bool)
    # Equal documents of equal lengths leave no spread at all, which is not certainty: a token less or more.
    mean, _ = DocumentMeans.of(inside.astype(np.float64), document).close()
    value, stderr = float(mean.mean[0]), float(mean.stderr[0])
    low = high = float("nan")
    if 0 < value < 1 and np.isfinite(stderr):
        floor = 0.5 / len(inside)
        quantile = float(stdtrit(mean.clusters[0] - 1, 0.5 + level / 2))
        reach = quantile * max(stderr, floor) / (value * (1 - value))
        low, high = (float(expit(logit(value) + sign * reach)) for sign in (-1, 1))
    return Share(value, low, high, stderr, int(inside.sum()))
