from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from depthlaw.laws.fit import Fit
from depthlaw.laws.result import Estimate, Status
from depthlaw.laws.words import verdict


def with_depth(law: Fit, *fields: object) -> Fit:
    """The fit with another estimate of the depth exponent."""
    one = Estimate("alpha_depth", *fields)  # type: ignore[arg-type]
    return replace(law, params=tuple(one if p.name == one.name else p for p in law.params))


@pytest.mark.parametrize(
    ("value", "interval", "said"),
    [
        (
            1.33,
            (0.93, 1.74),
            "depth exponent 1.33 [0.93, 1.74]: "
            "compatible with inverse depth scaling (1); excludes smooth dynamics (3).",
        ),
        (
            2.8,
            (2.5, 3.2),
            "depth exponent 2.80 [2.50, 3.20]: "
            "compatible with smooth dynamics (3); excludes inverse depth scaling (1).",
        ),
        (
            0.17,
            (0.11, 0.22),
            "depth exponent 0.17 [0.11, 0.22]: excludes inverse depth scaling (1) and smooth dynamics (3).",
        ),
        (
            1.9,
            (0.6, 4.0),
            "depth exponent 1.90 [0.60, 4.00]: "
            "compatible with inverse depth scaling (1) and with smooth dynamics (3).",
        ),
    ],
)
def test_the_verdict_says_what_the_interval_holds(
    made_fit: Fit, value: float, interval: tuple[float, float], said: str
) -> None:
    assert verdict(with_depth(made_fit, value, 0.1, interval, Status.OK)) == said


def test_no_number_where_there_is_none(made_fit: Fit) -> None:
    unknown = with_depth(made_fit, None, None, None, Status.NOT_IDENTIFIED, "one depth; add others")
    assert verdict(unknown) == "depth exponent not identified: one depth; add others."
    dropped = with_depth(made_fit, None, None, None, Status.DROPPED, "one depth")
    assert verdict(dropped) == "depth exponent not identified: one depth."


def test_what_was_given_is_not_called_found(made_fit: Fit) -> None:
    fixed = with_depth(made_fit, 1.0, None, None, Status.FIXED, "held fixed")
    assert verdict(fixed) == "depth exponent fixed at 1."


def test_other_scales_and_other_laws(made_fit: Fit, tokens_fit: Fit) -> None:
    one = made_fit["alpha_width"]
    assert one.interval is not None
    low, high = one.interval
    assert verdict(made_fit, "width") == f"width exponent {one.value:.2f} [{low:.2f}, {high:.2f}]."
    assert verdict(tokens_fit) == "the law has no depth term."


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "reading", "said"),
    [
        (
            "runs/chinchilla.csv",
            {"exclude_highest": 40},
            "depth exponent 1.33 [0.93, 1.74]: "
            "compatible with inverse depth scaling (1); excludes smooth dynamics (3).",
        ),
        (
            "synthetic/s05_two_depths.csv",
            {},
            "depth exponent not identified: only two values of depth (8, 24): any exponent fits equally "
            "well; train runs at width 1280 with depth 4, 14, 48, all else equal.",
        ),
    ],
)
def test_verdicts_on_real_and_made_tables(
    fitted: Callable[..., Fit], name: str, reading: dict[str, int], said: str
) -> None:
    assert verdict(fitted(name, **reading)) == said
