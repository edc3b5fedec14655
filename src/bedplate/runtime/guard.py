"""The reference guard: the readable specification of what may reach a robot.

Rules act in the order of `decision.RULES`. The first four judge the inputs: where one fails, the robot's own safe
action takes the place of the policy's command in the same tick. The next three bound the command. The last counts
missed deadlines. All comparisons are written as `not (x <= limit)`, so that NaN fails them; all numbers are doubles.

The guard is ordinary, non-certified software: bounded and tested, not certified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.runtime.bounds import CommandBounds
from bedplate.runtime.decision import RULES, Decision, Fault, Guard, Snapshot
from bedplate.runtime.signals import SignalLayout, numbers

__all__ = ["Decision", "Fault", "Guard", "ReferenceGuard"]

# a tick counts as late when it comes this many periods after the one before
LATE_PERIODS = 1.5
# measured dt counts for no more than these many periods, so that neither a stall nor a clock jump becomes a jump
LONGEST_DT_PERIODS = 2.0
# a clock that stands still gives the policy no way; the safe action is still reached, by this much of a period a tick
STOPPED_CLOCK_PERIODS = 0.5
# the longest that a rule may wait: a setting beyond this would switch it off
MOST_PERIODS = 100


class ReferenceGuard:
    """A `Guard` in plain Python.

    Until the first good state and command, the safe action is commanded and nothing latches: that is waiting. A
    position command without a good state to start from is held back.

    Args:
        contract: of the robot; its limits are the bounds.
        settings: when the policy is distrusted.

    Raises:
        BedplateError: a limit or setting could not be enforced.
    """

    def __init__(self, contract: Contract, settings: GuardSettings) -> None:
        _check_settings(contract, settings)
        self._bounds = CommandBounds(contract)
        self._layout = SignalLayout(contract)
        self._settings = settings
        self._period_s = contract.control_dt_s
        self._action_max_age_s = settings.action_max_age_periods * contract.control_dt_s
        self._max_ages_s = tuple(signal.max_age_s for signal in contract.signals)
        self._shortest_max_age_s = min(self._max_ages_s, default=math.inf)
        self._num_channels = len(contract.channels)
        self._fault: Fault | None = None
        self._num_faults = self._num_rejected = self._num_late = 0
        self._started = self._based = False
        self._last: list[float] = []
        self._last_now_s = self._last_action_stamp_s = self._answered_newest_s = math.nan
        self._counts = dict.fromkeys(RULES, 0)
        self.restart()

    @property
    def fault(self) -> Fault | None:
        """The latched fault, or None."""
        return self._fault

    @property
    def counts(self) -> Mapping[str, int]:
        """Rule name -> number of ticks in which it acted."""
        return self._counts

    @property
    def started(self) -> bool:
        """The policy has had authority since the last restart."""
        return self._started

    def filter(
        self,
        now_s: float,
        state_stamp_s: float | Sequence[float],
        signals: Mapping[str, np.ndarray] | None,
        action_stamp_s: float,
        command: np.ndarray | None,
    ) -> Decision:
        """Decide what goes to the robot in this tick; see `Guard.filter`."""
        asked = None if command is None else _elements(command)
        dt_s = self._measured_dt_s(now_s)

        # inputs: "" or what is wrong
        not_finite = self._not_finite(asked)
        stale_state = self._stale_state(now_s, state_stamp_s, signals)
        out_of_range = self._layout.violation(signals) if signals is not None else ""
        # a rejected state was never shown to the policy: its silence is no fault of its own
        stale_action = "" if out_of_range else self._stale_action(now_s, action_stamp_s, asked)
        late = "" if out_of_range else self._deadline_missed(now_s, state_stamp_s, action_stamp_s)
        measured = None if stale_state or out_of_range else signals
        if not self._based and measured is not None:
            self._last, self._based = self._bounds.start(measured), True

        # latch the first cause in the order of the rules; before the policy has started, staleness is waiting
        self._num_rejected = self._num_rejected + 1 if out_of_range else 0
        if not out_of_range:
            self._num_late = self._num_late + 1 if late else 0
        if self._fault is None:
            for rule, detail, latches in (
                ("finite", not_finite, True),
                ("stale_state", stale_state, self._started),
                ("observation_range", out_of_range, self._num_rejected >= self._settings.range_fault_ticks),
                ("stale_action", stale_action, self._started),
                ("deadline", late, self._started and self._num_late >= self._settings.overrun_limit),
            ):
                if detail and latches:
                    self._latch(rule, detail, now_s, state_stamp_s, signals, action_stamp_s, asked)
                    break

        # the policy's command, or the safe action; then the bounds
        if asked is None or not_finite or measured is None or stale_action or self._fault is not None:
            wanted = self._bounds.safe(self._last)
            dt_s = self._bounds.safe_dt_s(dt_s or STOPPED_CLOCK_PERIODS * self._period_s)
        else:
            wanted, self._started = asked, True
        reaction_s = self._reaction_s(now_s, state_stamp_s) if measured is not None else 0.0
        bounded, limited = self._bounds.apply(wanted, self._last, dt_s, measured, reaction_s)

        # name what acted, in the order of the rules
        rules: list[str] = ["finite"] if not_finite else []
        if stale_state:
            rules.append("stale_state")
        if out_of_range:
            rules.append("observation_range")
        if stale_action:
            rules.append("stale_action")
        rules += limited
        if late:
            rules.append("deadline")
        for rule in rules:
            self._counts[rule] += 1
        if action_stamp_s != self._last_action_stamp_s:
            self._answered_newest_s = _newest_s(state_stamp_s)
        self._last, self._last_now_s, self._last_action_stamp_s = bounded, now_s, action_stamp_s
        hold_back = self._bounds.starts_from_measurement and not self._based
        return Decision(np.array(bounded), tuple(rules), self._fault, hold_back)

    def trip(self, now_s: float, cause: str, detail: str) -> None:
        """Take the authority from the policy from outside; see `Guard.trip`."""
        if self._fault is None:
            self._latch(cause, detail, now_s, math.nan, None, math.nan, None)

    def rearm(self, token: str) -> None:
        """Give the authority back; see `Guard.rearm`."""
        if self._fault is None:
            raise BedplateError("the guard has no latched fault", "a fault to re-arm from")
        if token != self._fault.token:
            raise BedplateError(
                f"re-arm token {token!r}",
                f"{self._fault.token!r}, the token of the latched fault: {self._fault.detail}",
            )
        # the last command stays the base of the slew limit: that is what makes it bumpless
        self._fault = None
        self._num_rejected = self._num_late = 0

    def restart(self) -> None:
        """The robot was put somewhere else; see `Guard.restart`."""
        self._started = self._based = False
        self._num_rejected = self._num_late = 0
        self._last = self._bounds.start(None)
        self._last_now_s = self._last_action_stamp_s = self._answered_newest_s = math.nan

    def _not_finite(self, asked: list[float] | None) -> str:
        if asked is None:
            return ""
        if len(asked) != self._num_channels:
            return f"command has {len(asked)} elements, expected {self._num_channels}"
        for index, value in enumerate(asked):
            if not math.isfinite(value):
                return f"command of {self._bounds.channels[index]!r} is {value}"
        return ""

    def _stale_state(
        self, now_s: float, stamp_s: float | Sequence[float], signals: Mapping[str, np.ndarray] | None
    ) -> str:
        if signals is None:
            return "no state has been measured"
        # a stamp from the future is a broken clock and would never grow old
        earliest = -self._period_s
        if isinstance(stamp_s, (float, int)):
            age_s = now_s - stamp_s
            if earliest <= age_s <= self._shortest_max_age_s:
                return ""
            stamps: Sequence[float] = [stamp_s] * len(self._max_ages_s)
        else:
            stamps = stamp_s
            if len(stamps) != len(self._max_ages_s):
                return f"{len(stamps)} stamps for {len(self._max_ages_s)} signals"
        for name, stamp, max_age_s in zip(self._layout.names, stamps, self._max_ages_s, strict=True):
            age_s = now_s - stamp
            if not (earliest <= age_s <= max_age_s):
                return f"signal {name!r} is {age_s * 1e3:.1f} ms old, at most {max_age_s * 1e3:.1f} ms is allowed"
        return ""

    def _stale_action(self, now_s: float, stamp_s: float, asked: list[float] | None) -> str:
        if asked is None:
            return "the policy has given no command"
        age_s = now_s - stamp_s
        if not (-self._period_s <= age_s <= self._action_max_age_s):
            return f"the command is {age_s * 1e3:.1f} ms old, at most {self._action_max_age_s * 1e3:.1f} ms is allowed"
        return ""

    def _deadline_missed(self, now_s: float, state_stamp_s: float | Sequence[float], action_stamp_s: float) -> str:
        elapsed_s = now_s - self._last_now_s
        if elapsed_s > LATE_PERIODS * self._period_s:
            return f"{elapsed_s * 1e3:.1f} ms since the last tick, the period is {self._period_s * 1e3:.1f} ms"
        # the policy did not answer to a newer state: the same command is used again. Signals may be older than the
        # state that carried them, so they are also compared with those that came when this command was new
        newest_s = _newest_s(state_stamp_s)
        newer = newest_s > action_stamp_s or newest_s > self._answered_newest_s
        if action_stamp_s == self._last_action_stamp_s and newer:
            return "the policy did not answer to the newest state in time"
        return ""

    def _measured_dt_s(self, now_s: float) -> float:
        """Time since the last tick: however often the guard is called, commands change by their rate per second."""
        if math.isnan(self._last_now_s):
            return self._period_s
        dt_s = now_s - self._last_now_s
        # a clock that is broken or went back; it also makes every age fail
        return min(dt_s, LONGEST_DT_PERIODS * self._period_s) if dt_s > 0 else 0.0

    def _reaction_s(self, now_s: float, state_stamp_s: float | Sequence[float]) -> float:
        """How long the robot keeps moving before a change of command shows in a measurement."""
        oldest_s = state_stamp_s if isinstance(state_stamp_s, (float, int)) else min(state_stamp_s, default=now_s)
        return self._period_s + max(now_s - oldest_s, 0.0)

    def _latch(
        self,
        rule: str,
        detail: str,
        now_s: float,
        state_stamp_s: float | Sequence[float],
        signals: Mapping[str, np.ndarray] | None,
        action_stamp_s: float,
        asked: list[float] | None,
    ) -> None:
        oldest_s = state_stamp_s if isinstance(state_stamp_s, (float, int)) else min(state_stamp_s, default=math.nan)
        snapshot = Snapshot(
            state_age_s=now_s - oldest_s,
            action_age_s=now_s - action_stamp_s,
            signals={name: tuple(_elements(value)) for name, value in (signals or {}).items()},
            command=tuple(asked or ()),
            last_command=tuple(self._last),
        )
        self._num_faults += 1
        self._fault = Fault(rule, detail, now_s, f"{rule}-{self._num_faults}", snapshot)


def _newest_s(state_stamp_s: float | Sequence[float]) -> float:
    """The stamp of the freshest signal; NaN without signals."""
    return state_stamp_s if isinstance(state_stamp_s, (float, int)) else max(state_stamp_s, default=math.nan)


def _elements(value: object) -> list[float]:
    """The numbers in `value`, whatever its shape; none when it holds something else."""
    array = numbers(value)
    return [] if array is None else array.reshape(-1).tolist()


def _check_settings(contract: Contract, settings: GuardSettings) -> None:
    """Refuse what would switch a rule off."""
    if not (math.isfinite(contract.control_dt_s) and contract.control_dt_s > 0):
        raise BedplateError(f"control_dt_s is {contract.control_dt_s}", "a finite time above zero")
    if not 1 <= settings.action_max_age_periods <= MOST_PERIODS:
        raise BedplateError(
            f"action_max_age_periods is {settings.action_max_age_periods}", f"a number from 1 to {MOST_PERIODS}"
        )
    for name in ("overrun_limit", "range_fault_ticks"):
        if not 1 <= getattr(settings, name) <= MOST_PERIODS:
            raise BedplateError(f"{name} is {getattr(settings, name)}", f"a number from 1 to {MOST_PERIODS}")
    for signal in contract.signals:
        if not (math.isfinite(signal.low) and math.isfinite(signal.high) and signal.low < signal.high):
            raise BedplateError(
                f"bounds of signal {signal.name!r} are [{signal.low}, {signal.high}]", "two finite numbers, low < high"
            )
        if not (math.isfinite(signal.max_age_s) and signal.max_age_s > 0):
            raise BedplateError(
                f"max_age_s of signal {signal.name!r} is {signal.max_age_s}", "a finite time above zero"
            )
