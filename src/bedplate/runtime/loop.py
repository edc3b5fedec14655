"""A fixed rate on absolute deadlines: it keeps phase, skips what it missed, and never bursts."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from typing import Protocol


class Clock(Protocol):
    """A clock that only goes forward."""

    def now_ns(self) -> int:
        """The time."""
        ...

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Return at `deadline_ns` or soon after; at once when it has passed."""
        ...


class MonotonicClock:
    """CLOCK_MONOTONIC, the same in every process of this machine, and not moved by setting the date."""

    def now_ns(self) -> int:
        """The time."""
        return time.monotonic_ns()

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Return at `deadline_ns` or soon after; at once when it has passed."""
        while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
            time.sleep(left_ns * 1e-9)


class FixedRate:
    """Deadlines at a fixed period.

    Args:
        period_s: time between two deadlines.
        clock: where the time comes from.

    Attributes:
        deadline_ns: the deadline of the current tick.
        missed: deadlines that were skipped because a tick was late.
    """

    def __init__(self, period_s: float, clock: Clock) -> None:
        self.period_ns = round(period_s * 1e9)
        self.clock = clock
        self.deadline_ns = clock.now_ns() + self.period_ns
        self.missed = 0

    def start(self, first_deadline_ns: int) -> None:
        """Set the phase."""
        self.deadline_ns = first_deadline_ns

    def shift(self, error_ns: int) -> None:
        """Move the phase by a small part of `error_ns`, to follow a partner whose clock runs differently."""
        largest_ns = self.period_ns // 50
        self.deadline_ns += min(max(error_ns // 10, -largest_ns), largest_ns)

    def advance(self) -> int:
        """Go to the next deadline, at least half a period from now; returns how many were skipped.

        Skipping keeps the phase: deadlines stay on the grid of the first one.
        """
        self.deadline_ns += self.period_ns
        earliest_ns = self.clock.now_ns() + self.period_ns // 2
        skipped = max(0, -((self.deadline_ns - earliest_ns) // self.period_ns))
        self.deadline_ns += skipped * self.period_ns
        self.missed += skipped
        return skipped

    def sleep(self) -> None:
        """Wait for the current deadline."""
        self.clock.sleep_until_ns(self.deadline_ns)


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep the collector from stopping a loop; reference counting still frees nearly everything."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
