"""Limits of a robot's command, and its safe action: declared by the task, enforced by the guard, carried by the bundle.

One object serves simulation, training, evaluation and the robot, so that none of them can disagree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from bedplate.core.errors import BedplateError

SafeMode = Literal["hold", "ramp", "constant"]

ActionKind = Literal["velocity", "position", "delta_position", "twist", "thrust_and_body_rate", "effort"]
"""What a command is; the guard bounds each kind in its own way, so that a kind it does not know is refused."""


@dataclass(frozen=True)
class PositionLimit:
    """Where a velocity command may not drive a measured position.

    Attributes:
        signal: name of the measured signal.
        index: element of that signal.
        low, high: bounds, in the signal's unit.
    """

    signal: str
    index: int
    low: float
    high: float


@dataclass(frozen=True)
class EffortLimit:
    """How large a measured effort may be.

    Attributes:
        signal: name of the measured signal.
        index: element of that signal.
        high: largest magnitude, in the signal's unit.
    """

    signal: str
    index: int
    high: float


@dataclass(frozen=True)
class ChannelLimits:
    """Limits of one command channel.

    Attributes:
        channel: the channel's name, such as a joint.
        unit: unit of the command.
        low, high: bounds of the command.
        rate_per_s: largest change of the command in one second; of a position command this is a velocity, of a
            velocity command an acceleration.
        position: bound on a measured position that this channel drives, if any.
        effort: bound on a measured effort of this channel, if any.
    """

    channel: str
    unit: str
    low: float
    high: float
    rate_per_s: float
    position: PositionLimit | None = None
    effort: EffortLimit | None = None


@dataclass(frozen=True)
class SafeAction:
    """What the robot does when the policy may not be trusted.

    Attributes:
        mode: "hold" repeats the last command that passed the guard (position commands); "ramp" moves to `value`
            at the channels' rate limits (decelerate, hover); "constant" commands `value` at once (damp).
        value: one number per channel, in the channel's unit; unused by "hold" until a first command exists.
    """

    mode: SafeMode
    value: tuple[float, ...]


@dataclass(frozen=True)
class Limits:
    """All limits of a robot's command.

    Attributes:
        channels: one entry per command channel, in command order.
        safe_action: the robot's own safe action.
    """

    channels: tuple[ChannelLimits, ...]
    safe_action: SafeAction

    def validate(self) -> None:
        """Check that each bound is finite and ordered.

        Raises:
            BedplateError: names the channel, the field and its value.
        """
        if not self.channels:
            raise BedplateError("limits name no channel", "one entry per command channel")
        if len(self.safe_action.value) != len(self.channels):
            raise BedplateError(
                f"safe_action has {len(self.safe_action.value)} values",
                f"{len(self.channels)}, one per channel",
            )
        names = [limit.channel for limit in self.channels]
        if len(set(names)) < len(names):
            raise BedplateError(f"limits name the channels {names}", "each channel once")
        if self.safe_action.mode not in get_args(SafeMode):
            raise BedplateError(f"safe_action has the mode {self.safe_action.mode!r}", f"one of {get_args(SafeMode)}")
        for limit, safe in zip(self.channels, self.safe_action.value, strict=True):
            _ordered(limit.channel, "command", limit.low, limit.high)
            _positive(limit.channel, "rate_per_s", limit.rate_per_s)
            if limit.position is not None:
                _ordered(limit.channel, "position", limit.position.low, limit.position.high)
            if limit.effort is not None:
                _positive(limit.channel, "effort", limit.effort.high)
            if not limit.low <= safe <= limit.high:
                raise BedplateError(
                    f"safe_action of {limit.channel!r} is {safe}", f"a value in [{limit.low}, {limit.high}]"
                )


def _ordered(channel: str, field: str, low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise BedplateError(f"{field} bounds of {channel!r} are [{low}, {high}]", "two finite numbers, low < high")


def _positive(channel: str, field: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise BedplateError(f"{field} of {channel!r} is {value}", "a finite number above zero")
