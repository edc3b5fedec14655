"""What a command may be, channel by channel: position, rate and effort rules, the safe action, the bumpless start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bedplate.bundle.contract import COMMANDED, Contract
from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits

POSITION_KINDS = ("position", "delta_position")
VELOCITY_KINDS = ("velocity", "twist")

# a command is computed in float32: a smaller excess, relative to the channel's span, is cut but not counted
COUNTED_EXCESS = 1e-6


class _Channel(NamedTuple):
    low: float
    high: float
    rate_per_s: float
    counted: float
    # measured position and its bounds, for velocity commands only
    position_signal: str | None
    position_index: int
    position_low: float
    position_high: float
    effort_signal: str | None
    effort_index: int
    effort_high: float
    # where a position command starts from
    start_signal: str | None
    start_index: int


class CommandBounds:
    """The bounds of a contract's command.

    Args:
        contract: of the robot.

    Attributes:
        channels: names of the command channels.
        starts_from_measurement: without a measured position there is no first command, not even a safe one.

    Raises:
        BedplateError: a bound that could not be enforced for this kind of command.
    """

    def __init__(self, contract: Contract) -> None:
        contract.limits.validate()
        self.channels = contract.channels
        self._moves_position = contract.action_kind in POSITION_KINDS
        self._safe_mode = contract.limits.safe_action.mode
        self._safe_value = list(contract.limits.safe_action.value)
        sizes = {signal.name: signal.size for signal in contract.signals}
        starts = _start_signals(contract)
        self._rows = tuple(
            _row(limit, contract.action_kind, sizes, starts, index)
            for index, limit in enumerate(contract.limits.channels)
        )
        self.starts_from_measurement = any(row.start_signal is not None for row in self._rows)
        if self._safe_mode == "hold" and not self._moves_position:
            raise BedplateError(
                f"safe action 'hold' with commands of kind {contract.action_kind!r}",
                "'ramp' or 'constant': to hold a velocity, a twist or an effort is to keep moving",
            )

    def start(self, measured: Mapping[str, np.ndarray] | None) -> list[float]:
        """Where the first command starts from: the measured position of a position command, else the safe action."""
        values = list(self._safe_value)
        for index, row in enumerate(self._rows):
            if row.start_signal is not None and measured is not None:
                values[index] = float(measured[row.start_signal][row.start_index])
            values[index] = min(max(values[index], row.low), row.high)
        return values

    def safe(self, last: list[float]) -> list[float]:
        """The command that the robot's safe action aims at."""
        return list(last) if self._safe_mode == "hold" else list(self._safe_value)

    def safe_dt_s(self, dt_s: float) -> float:
        """The time that the rate rule grants the safe action: "constant" goes there at once."""
        return math.inf if self._safe_mode == "constant" else dt_s

    def apply(
        self,
        wanted: list[float],
        last: list[float],
        dt_s: float,
        measured: Mapping[str, np.ndarray] | None,
        reaction_s: float,
    ) -> tuple[list[float], list[str]]:
        """Bound a finite command.

        Args:
            wanted: one finite value per channel.
            last: the command of the tick before.
            dt_s: time since then.
            measured: the newest state, when it may be believed.
            reaction_s: how long the robot keeps its velocity before a change of command shows in a measurement.

        Returns:
            The bounded command and the rules that acted: "position", "rate", "effort".
        """
        position = rate = effort = False
        bounded = []
        for row, asked, before in zip(self._rows, wanted, last, strict=True):
            # position: bounds of the command, and the stopping distance to the bounds of the measured position
            low, high = row.low, row.high
            if row.position_signal is not None and measured is not None:
                here = float(measured[row.position_signal][row.position_index])
                high = min(high, _stopping_velocity(row.position_high - here, row.rate_per_s, reaction_s))
                low = max(low, -_stopping_velocity(here - row.position_low, row.rate_per_s, reaction_s))
            value = min(max(asked, low), high)
            position = position or abs(value - asked) > row.counted

            # rate: per second times measured dt, from the last command
            step = row.rate_per_s * dt_s
            slewed = min(max(value, before - step), before + step)
            rate = rate or abs(slewed - value) > row.counted
            value = slewed

            # effort: no further along a measured effort that is too large
            if row.effort_signal is not None and measured is not None:
                felt = float(measured[row.effort_signal][row.effort_index])
                if not abs(felt) <= row.effort_high:
                    yielding = self._yield(value, before, felt, step)
                    effort = effort or yielding != value
                    value = yielding

            # rounding may leave the last bit outside
            bounded.append(min(max(value, row.low), row.high))
        acted = [name for name, flag in (("position", position), ("rate", rate), ("effort", effort)) if flag]
        return bounded, acted

    def _yield(self, value: float, before: float, felt: float, step: float) -> float:
        """Position commands stop moving along the effort; others that push along it go to zero at their rate."""
        if self._moves_position:
            return min(value, before) if felt > 0 else max(value, before)
        if value * felt <= 0:
            return value
        return max(before - step, 0.0) if felt > 0 else min(before + step, 0.0)


def _stopping_velocity(distance: float, deceleration: float, reaction_s: float) -> float:
    """Largest velocity v with v * reaction_s + v^2 / (2 * deceleration) <= distance; 0 at or beyond the bound."""
    if not distance > 0.0:
        return 0.0
    return deceleration * (math.sqrt(reaction_s * reaction_s + 2.0 * distance / deceleration) - reaction_s)


def _start_signals(contract: Contract) -> list[tuple[str, int] | None]:
    """Which measurement each position command starts from, where the contract says so."""
    count = len(contract.channels)
    if contract.action_kind not in POSITION_KINDS:
        return [None] * count
    starts: list[tuple[str, int] | None] = [None] * count
    # a policy that remembers its last command also says where that starts
    for term in contract.memory:
        if term.name == COMMANDED and term.initial_signal and term.size == count:
            starts = [(term.initial_signal, index) for index in range(count)]
    for index, limit in enumerate(contract.limits.channels):
        if limit.position is not None:
            starts[index] = (limit.position.signal, limit.position.index)
    return starts


def _row(
    limit: ChannelLimits, kind: str, sizes: Mapping[str, int], starts: list[tuple[str, int] | None], index: int
) -> _Channel:
    low, high = limit.low, limit.high
    for name, bound in (("position", limit.position), ("effort", limit.effort)):
        if bound is not None and not 0 <= bound.index < sizes.get(bound.signal, 0):
            raise BedplateError(
                f"{name} limit of {limit.channel!r} names element {bound.index} of signal {bound.signal!r}",
                f"an element of the contract's signals: {dict(sizes)}",
            )
    watched = limit.position if kind in VELOCITY_KINDS else None
    if limit.position is not None:
        if kind in POSITION_KINDS:
            low, high = max(low, limit.position.low), min(high, limit.position.high)
        elif kind not in VELOCITY_KINDS:
            raise BedplateError(
                f"channel {limit.channel!r} has a position limit, but its commands are of kind {kind!r}",
                f"one of {(*POSITION_KINDS, *VELOCITY_KINDS)}: no other kind can be kept within a position",
            )
        elif not low <= 0.0 <= high:
            raise BedplateError(
                f"channel {limit.channel!r} has a position limit and cannot stand still in [{low}, {high}]",
                "command bounds that contain zero",
            )
    if limit.effort is not None and kind == "thrust_and_body_rate":
        raise BedplateError(
            f"channel {limit.channel!r} has an effort limit, but its commands are of kind {kind!r}",
            "no effort limit: less thrust is not the safer command",
        )
    if not low < high:
        raise BedplateError(f"channel {limit.channel!r} may only be commanded in [{low}, {high}]", "low < high")
    start = starts[index]
    return _Channel(
        low=low,
        high=high,
        rate_per_s=limit.rate_per_s,
        counted=COUNTED_EXCESS * (limit.high - limit.low),
        position_signal=watched.signal if watched else None,
        position_index=watched.index if watched else 0,
        position_low=watched.low if watched else 0.0,
        position_high=watched.high if watched else 0.0,
        effort_signal=limit.effort.signal if limit.effort else None,
        effort_index=limit.effort.index if limit.effort else 0,
        effort_high=limit.effort.high if limit.effort else 0.0,
        start_signal=start[0] if start else None,
        start_index=start[1] if start else 0,
    )
