"""Time that never jumps: one protocol, the machine's monotonic clock, and a clock that tests set by hand."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock. Its zero has no meaning; differences do."""

    def now_s(self) -> float:
        """Monotonic time in seconds."""
        ...

    def now_ns(self) -> int:
        """Monotonic time in nanoseconds, exact."""
        ...

    def sleep_until(self, deadline_s: float) -> None:
        """Return at `deadline_s` of now_s() or just after it; at once when it has passed."""
        ...


class MonotonicClock:
    """CLOCK_MONOTONIC: the same zero for every process of the machine, so stamps can be compared across processes."""

    def now_s(self) -> float:
        """Monotonic time in seconds."""
        return time.monotonic()

    def now_ns(self) -> int:
        """Monotonic time in nanoseconds, exact."""
        return time.monotonic_ns()

    def sleep_until(self, deadline_s: float) -> None:
        """Return at `deadline_s` or just after it; signals are handled meanwhile and don't shorten the sleep."""
        while (left_s := deadline_s - time.monotonic()) > 0:
            time.sleep(left_s)


class FakeClock:
    """A clock that moves only when told: by advance(), or by sleeping.

    Args:
        start_s: time of the first reading.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_ns = round(start_s * 1e9)

    def now_s(self) -> float:
        """The set time in seconds."""
        return self._now_ns / 1e9

    def now_ns(self) -> int:
        """The set time in nanoseconds."""
        return self._now_ns

    def sleep_until(self, deadline_s: float) -> None:
        """Move to `deadline_s` at once; a passed deadline moves nothing."""
        self._now_ns = max(self._now_ns, round(deadline_s * 1e9))

    def advance(self, duration_s: float) -> None:
        """Move forward.

        Raises:
            ValueError: the duration is negative.
        """
        if duration_s < 0:
            raise ValueError(f"a monotonic clock does not go back by {-duration_s} s")
        self._now_ns += round(duration_s * 1e9)


def duration(seconds: float) -> str:
    """A time span as people write it, such as "34 s", "2 min 31 s", "1 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"
