"""Intervals and quantiles against other ways of computing them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq

from bedplate.evaluate.statistics import Z_95, percent, quartiles_of, rate_of, wilson_interval


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_equals_the_published_table(count, total, low, high):
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
    assert wilson_interval(count, total) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("count", "total"), [(1, 7), (250, 500), (475, 500), (499, 500), (3, 1000)])
def test_wilson_bounds_solve_the_score_equation(count, total):
    # the bounds are the rates p with |count/total - p| = z * sqrt(p (1 - p) / total)
    share = count / total
    score = lambda p: abs(share - p) - Z_95 * math.sqrt(p * (1 - p) / total)  # noqa: E731
    expected = brentq(score, 1e-12, share), brentq(score, share, 1 - 1e-12)
    assert wilson_interval(count, total) == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_rate_and_mirrors(case):
    count, total = case
    rate = rate_of(count, total)
    assert 0.0 <= rate.low <= rate.rate <= rate.high <= 1.0
    mirrored = rate_of(total - count, total)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - rate.high, 1 - rate.low), abs=1e-12)


def test_none_of_n_and_all_of_n_reach_the_ends_exactly():
    assert wilson_interval(0, 500)[0] == 0.0
    assert wilson_interval(500, 500)[1] == 1.0


@pytest.mark.parametrize(("count", "total"), [(0, 0), (-1, 5), (6, 5)])
def test_impossible_rates_are_refused(count, total):
    with pytest.raises(ValueError, match="is not a rate"):
        wilson_interval(count, total)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_quartiles_equal_numpy(values):
    found = quartiles_of(values)
    assert found is not None
    assert (found.low, found.median, found.high) == pytest.approx(tuple(np.percentile(values, (25, 50, 75))), abs=1e-6)


def test_quartiles_leave_out_what_is_not_finite():
    assert quartiles_of([math.nan, 1.0, math.inf, 3.0]) == quartiles_of([1.0, 3.0])
    assert quartiles_of([math.nan]) is None


@pytest.mark.parametrize(
    ("rate", "text"), [(0.0, "0.0 %"), (1.0, "100.0 %"), (0.9999, "99.9 %"), (0.0001, "< 0.1 %"), (0.9514, "95.1 %")]
)
def test_percent_never_claims_all_or_none(rate, text):
    assert percent(rate) == text
