"""Rates with their uncertainty, and medians with quartiles: how results are stated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z_95 = 1.959963984540054
"""97.5 % quantile of the normal distribution: two-sided 95 % intervals."""


@dataclass(frozen=True)
class Rate:
    """How often something happened.

    Attributes:
        count: times it happened.
        total: times it could have happened.
        rate: count / total.
        low, high: Wilson interval, 95 %.
    """

    count: int
    total: int
    rate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.rate)} ({percent(self.low)} to {percent(self.high)})"


def rate_of(count: int, total: int) -> Rate:
    """State `count` of `total` as a rate with its 95 % Wilson interval.

    Raises:
        ValueError: total is below 1, or count is outside [0, total].
    """
    low, high = wilson_interval(count, total)
    return Rate(count, total, count / total, low, high)


def wilson_interval(count: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Score interval of a binomial rate: the rates that a normal test with `z` does not reject.

    It keeps its coverage near 0 and 1, where the textbook interval collapses (Wilson, JASA 22, 1927).

    Returns:
        Lower and upper bound, in [0, 1].

    Raises:
        ValueError: total is below 1, or count is outside [0, total].
    """
    if total < 1 or not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is not a rate")
    share = count / total
    denominator = 1.0 + z * z / total
    centre = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1.0 - share) / total + z * z / (4 * total * total))
    # rounding must not push the bounds of 0 of n and n of n off 0 and 1
    low = 0.0 if count == 0 else (centre - half) / denominator
    high = 1.0 if count == total else (centre + half) / denominator
    return low, high


@dataclass(frozen=True)
class Quartiles:
    """The middle of a distribution.

    Attributes:
        median, low, high: 50 %, 25 % and 75 % quantile.
        total: finite values it was made from.
    """

    median: float
    low: float
    high: float
    total: int

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g} to {self.high:.3g})"


def quartiles_of(values: Sequence[float]) -> Quartiles | None:
    """Median and quartiles of the finite values; None when there are none."""
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite:
        return None
    return Quartiles(quantile(finite, 0.5), quantile(finite, 0.25), quantile(finite, 0.75), len(finite))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile of sorted values, linear between neighbours (NumPy's default)."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def percent(rate: float) -> str:
    """A rate as a percentage with one decimal; never rounded up to 100 % nor down to 0 %."""
    text = f"{100 * rate:.1f} %"
    if rate < 1 and text == "100.0 %":
        return "99.9 %"
    if rate > 0 and text == "0.0 %":
        return "< 0.1 %"
    return text
