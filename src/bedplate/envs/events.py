"""When a task's events happen: at start-up, at each reset, and at intervals during episodes."""

from __future__ import annotations

import numpy as np

from bedplate.tasks.spec import Event
from bedplate.tasks.state import State


class EventSchedule:
    """Runs the events of a task.

    Args:
        events: the task's events, in the order they are to run.
        randomisation: run the events that are randomisation; layout events always run.
        control_dt_s: control period, for intervals.
        num_envs: number of worlds.
        rng: source of all draws.
    """

    def __init__(
        self,
        events: tuple[Event, ...],
        randomisation: bool,
        control_dt_s: float,
        num_envs: int,
        rng: np.random.Generator,
    ) -> None:
        active = [event for event in events if randomisation or not event.randomisation]
        self._startup = [event for event in active if event.mode == "startup"]
        self._reset = [event for event in active if event.mode == "reset"]
        self._interval = [event for event in active if event.mode == "interval"]
        self._rng = rng
        self._dt_s = control_dt_s
        self._remaining_s = np.full((len(self._interval), num_envs), np.inf)

    def startup(self, state: State) -> None:
        """Run the start-up events on all worlds."""
        ids = np.arange(state.num_envs)
        for event in self._startup:
            event.func(state, ids, self._rng)

    def reset(self, state: State, ids: np.ndarray) -> None:
        """Run the reset events on the worlds `ids` and restart their intervals."""
        for event in self._reset:
            event.func(state, ids, self._rng)
        for row, event in enumerate(self._interval):
            self._remaining_s[row, ids] = self._rng.uniform(*event.interval_s, len(ids))

    def interval(self, state: State) -> None:
        """Run the interval events whose time has come."""
        if not self._interval:
            return
        self._remaining_s -= self._dt_s
        for row, event in enumerate(self._interval):
            ids = np.nonzero(self._remaining_s[row] <= 0)[0]
            if len(ids):
                event.func(state, ids, self._rng)
                self._remaining_s[row, ids] = self._rng.uniform(*event.interval_s, len(ids))
