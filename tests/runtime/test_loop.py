from __future__ import annotations

import gc

import pytest
from hypothesis import given, strategies as st

from bedplate.core.clock import FakeClock
from bedplate.runtime.loop import FixedRate, no_garbage_collection

T_NS = 20_000_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(5.0)


def test_deadlines_are_absolute_whatever_the_work_takes(clock: FakeClock) -> None:
    rate = FixedRate(0.02, clock)
    first_ns = rate.deadline_ns
    for tick in range(1000):
        rate.sleep()
        assert clock.now_ns() == pytest.approx(first_ns + tick * T_NS, abs=2)
        clock.advance(0.0001 * (tick % 90))
        assert rate.advance() == 0
    assert rate.missed == 0


def test_missed_deadlines_are_skipped_and_the_phase_is_kept(clock: FakeClock) -> None:
    rate = FixedRate(0.02, clock)
    rate.sleep()
    phase_ns = rate.deadline_ns % T_NS
    clock.advance(0.075)
    # 20, 40 and 60 ms have passed; 80 ms is closer than half a period
    assert rate.advance() == 4
    assert rate.missed == 4
    assert rate.deadline_ns % T_NS == phase_ns and rate.deadline_ns > clock.now_ns()


@given(work_s=st.lists(st.floats(0.0, 0.15), min_size=1, max_size=50))
def test_no_two_ticks_are_closer_than_half_a_period(work_s: list[float]) -> None:
    clock = FakeClock(1.0)
    rate = FixedRate(0.02, clock)
    phase_ns = rate.deadline_ns % T_NS
    done_ns = None
    for duration_s in work_s:
        rate.sleep()
        start_ns = clock.now_ns()
        # the command goes out at the end of the work
        clock.advance(duration_s)
        if done_ns is not None:
            assert start_ns - done_ns >= T_NS // 2 - 2
        done_ns = clock.now_ns()
        rate.advance()
        assert rate.deadline_ns % T_NS == phase_ns


def test_a_shift_is_small_and_bounded(clock: FakeClock) -> None:
    rate = FixedRate(0.02, clock)
    before_ns = rate.deadline_ns
    rate.shift(1_000_000)
    assert rate.deadline_ns - before_ns == 100_000
    rate.shift(-(10**9))
    assert rate.deadline_ns - before_ns == 100_000 - T_NS // 50


def test_the_collector_is_off_in_the_loop_and_on_afterwards() -> None:
    assert gc.isenabled()
    with pytest.raises(RuntimeError), no_garbage_collection():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled()
