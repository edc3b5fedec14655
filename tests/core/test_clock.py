"""Clocks agree with time.monotonic, or move only when told."""

from __future__ import annotations

import time

import pytest

from bedplate.core.clock import Clock, FakeClock, MonotonicClock, duration


def test_monotonic_clock_is_the_machines() -> None:
    clock: Clock = MonotonicClock()
    before_s = time.monotonic()
    assert before_s <= clock.now_s() <= time.monotonic()
    assert abs(clock.now_ns() / 1e9 - time.monotonic()) < 0.1


def test_sleep_until_never_returns_early() -> None:
    clock = MonotonicClock()
    deadline_s = clock.now_s() + 0.02
    clock.sleep_until(deadline_s)
    assert clock.now_s() >= deadline_s


def test_a_passed_deadline_returns_at_once() -> None:
    clock = MonotonicClock()
    start_s = clock.now_s()
    clock.sleep_until(start_s - 5.0)
    assert clock.now_s() - start_s < 1.0


def test_fake_clock_moves_only_when_told() -> None:
    clock: Clock = FakeClock(100.0)
    assert (clock.now_s(), clock.now_ns()) == (100.0, 100_000_000_000)
    time.sleep(0.01)
    assert clock.now_s() == 100.0
    clock.sleep_until(100.5)
    assert clock.now_s() == 100.5
    clock.sleep_until(99.0)
    assert clock.now_s() == 100.5


def test_fake_clock_adds_exactly() -> None:
    clock = FakeClock()
    for _ in range(1000):
        clock.advance(0.01)
    assert clock.now_ns() == 10_000_000_000


def test_fake_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        FakeClock().advance(-0.001)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (151.2, "2 min 31 s"),
        (3599.9, "1 h 0 min"),
        (3900, "1 h 5 min"),
    ],
)
def test_durations_have_one_form(seconds: float, text: str) -> None:
    assert duration(seconds) == text
