"""Latency statistics in constant memory: a histogram with bins that grow by about one percent."""

from __future__ import annotations

import math
from dataclasses import dataclass

SHORTEST_S = 1e-6
BINS_PER_DECADE = 230
NUM_BINS = 8 * BINS_PER_DECADE


@dataclass(frozen=True)
class LatencySummary:
    """Percentiles of a latency; exact to about one percent. NaN-free: all zero when n is 0.

    Attributes:
        n: number of samples.
        p50_us, p90_us, p99_us, p99_9_us: percentiles in microseconds.
    """

    n: int
    p50_us: float
    p90_us: float
    p99_us: float
    p99_9_us: float


class LatencyHistogram:
    """Counts of latencies between 1 us and 100 s; what lies outside goes to the first or last bin."""

    def __init__(self) -> None:
        self.n = 0
        self._counts = [0] * NUM_BINS

    def add(self, latency_s: float) -> None:
        """Count one sample."""
        self.n += 1
        # a clock that went backwards gives a latency below zero: first bin
        position = math.log10(latency_s / SHORTEST_S) * BINS_PER_DECADE if latency_s > SHORTEST_S else 0.0
        self._counts[int(min(position, NUM_BINS - 1))] += 1

    def percentile_us(self, percent: float) -> float:
        """The latency that `percent` of the samples do not exceed, rounded up to the edge of its bin."""
        if self.n == 0:
            return 0.0
        # 99.9 has no exact binary form: the slack keeps 999 of 1000 from becoming 1000
        left = math.ceil(self.n * percent / 100.0 - 1e-9)
        for index, count in enumerate(self._counts):
            left -= count
            if left <= 0:
                return _upper_edge_us(index)
        return _upper_edge_us(NUM_BINS - 1)

    def summary(self) -> LatencySummary:
        """Percentiles for tables."""
        return LatencySummary(
            n=self.n,
            p50_us=self.percentile_us(50.0),
            p90_us=self.percentile_us(90.0),
            p99_us=self.percentile_us(99.0),
            p99_9_us=self.percentile_us(99.9),
        )

    def bins(self) -> list[tuple[float, int]]:
        """(upper edge in microseconds, count) of every bin that holds a sample, for plots."""
        return [(_upper_edge_us(index), count) for index, count in enumerate(self._counts) if count]


def _upper_edge_us(index: int) -> float:
    return SHORTEST_S * 1e6 * math.pow(10.0, (index + 1) / BINS_PER_DECADE)
