"""A fixed rate on absolute deadlines: it keeps phase, skips what it missed, and never bursts."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from bedplate.core.clock import Clock


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
        self.clock.sleep_until(self.deadline_ns * 1e-9)


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
