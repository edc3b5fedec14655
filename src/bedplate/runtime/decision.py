"""What a guard is: the protocol, and what it answers.

Every guard (the readable reference here, a native core later) fulfils `Guard` and gives the same numbers, since all
of it is computed in doubles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

RULES = (
    "finite",
    "stale_state",
    "observation_range",
    "stale_action",
    "position",
    "rate",
    "effort",
    "deadline",
)
"""The rules in the order in which they are applied."""


@dataclass(frozen=True)
class Snapshot:
    """The guard's inputs in the tick that latched a fault.

    Attributes:
        state_age_s: age of the oldest signal; NaN before the first state.
        action_age_s: age of the state the action was computed from; NaN before the first action.
        signals: signal name -> values, as measured.
        command: what the policy asked for; empty when it asked for nothing.
        last_command: what went to the robot in the tick before.
    """

    state_age_s: float
    action_age_s: float
    signals: Mapping[str, tuple[float, ...]]
    command: tuple[float, ...]
    last_command: tuple[float, ...]


@dataclass(frozen=True)
class Fault:
    """Why the policy lost its authority. It stays lost until an operator re-arms the guard.

    Attributes:
        rule: one of RULES, or the cause given to `Guard.trip`, such as "stop".
        detail: what was found and what was allowed, in words.
        time_s: guard time at which it was latched.
        token: what `Guard.rearm` must be given; different for every fault.
        snapshot: the inputs of that tick.
    """

    rule: str
    detail: str
    time_s: float
    token: str
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Decision:
    """What goes to the robot in one tick.

    Attributes:
        command: (num_channels,) float64 in the channels' units; always finite and within the limits.
        rules: names of the rules that acted in this tick, in order; empty when the policy's command passed unchanged.
        fault: the latched fault, while there is one.
        hold_back: send nothing in this tick. A position command starts from the measured position, and since the start
            or restart none has been measured that is fresh and in range: any command could be a jump.
    """

    command: np.ndarray
    rules: tuple[str, ...]
    fault: Fault | None
    hold_back: bool = False


class Guard(Protocol):
    """The last word on every command. One object per robot; not thread-safe; never blocks."""

    @property
    def fault(self) -> Fault | None:
        """The latched fault, or None."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """Rule name -> number of ticks in which it acted."""
        ...

    def filter(
        self,
        now_s: float,
        state_stamp_s: float | Sequence[float],
        signals: Mapping[str, np.ndarray] | None,
        action_stamp_s: float,
        command: np.ndarray | None,
    ) -> Decision:
        """Decide what goes to the robot in this tick. Call it once per control period.

        Args:
            now_s: time on the clock of the stamps (simulated time is fine).
            state_stamp_s: when the newest state was measured: one stamp, or one per signal in contract order.
            signals: the newest state: name -> (size,) in physical units; None before the first one.
            action_stamp_s: stamp of the state from which `command` was computed, so that an answer to an old state
                is an old action however late it was written.
            command: (num_channels,) the policy's newest command in physical units; None when there is none.

        Returns:
            What goes to the robot; nothing may be sent while `hold_back` is set.
        """
        ...

    def trip(self, now_s: float, cause: str, detail: str) -> None:
        """Take the authority from the policy from outside: a stop request, an emergency stop, a lost process."""
        ...

    def rearm(self, token: str) -> None:
        """Give the authority back; commands continue from the last one sent, at the rate limits.

        Args:
            token: the token of the fault that the operator has seen.

        Raises:
            BedplateError: no fault is latched, or the token is another fault's.
        """
        ...

    def restart(self) -> None:
        """The robot was put somewhere else (a new episode): the next command starts from the measured state.

        A latched fault stays.
        """
        ...
