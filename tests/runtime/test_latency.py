from __future__ import annotations

import numpy as np
import pytest

from bedplate.runtime.latency import LatencyHistogram


def test_percentiles_are_right_to_about_a_percent() -> None:
    samples_s = np.random.default_rng(0).lognormal(-8.0, 1.0, 20_000)
    histogram = LatencyHistogram()
    for sample in samples_s.tolist():
        histogram.add(sample)
    for percent in (50.0, 90.0, 99.0, 99.9):
        exact_us = float(np.sort(samples_s)[round(20_000 * percent / 100.0) - 1]) * 1e6
        assert exact_us <= histogram.percentile_us(percent) <= exact_us * 1.0102
    assert histogram.summary().n == 20_000


def test_one_slow_sample_in_a_thousand_shows_at_the_right_percentile() -> None:
    histogram = LatencyHistogram()
    for _ in range(999):
        histogram.add(1e-4)
    histogram.add(1.0)
    assert histogram.percentile_us(99.9) == pytest.approx(100.0, rel=0.011)
    assert histogram.percentile_us(99.95) == pytest.approx(1e6, rel=0.011)


@pytest.mark.parametrize("odd_s", [0.0, -1.0, 1e-9, 1e9, float("inf")])
def test_what_lies_outside_goes_to_the_first_or_last_bin(odd_s: float) -> None:
    histogram = LatencyHistogram()
    histogram.add(odd_s)
    assert histogram.n == 1 and sum(count for _, count in histogram.bins()) == 1


def test_an_empty_histogram_has_no_numbers_that_json_refuses() -> None:
    summary = LatencyHistogram().summary()
    assert (summary.n, summary.p50_us, summary.p99_9_us) == (0, 0.0, 0.0)
