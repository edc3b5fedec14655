"""What a policy reads, remembers and commands: signals, features, memory, action. All of it goes into the bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bedplate.core.limits import ActionKind, Limits
from bedplate.tasks.state import State

Signals = Mapping[str, Tensor]
"""Signal name -> (num_envs, size) float32, in physical units."""

Memory = Mapping[str, Tensor]
"""Memory name -> (num_envs, size) float32: what the policy itself remembers from the previous control step."""


@dataclass(frozen=True, kw_only=True)
class Signal:
    """What the robot measures or is told.

    Attributes:
        name: the signal's name, the same in simulation, in the bundle and on the link.
        components: one name per element, such as joint names; its length is the signal's size.
        unit: unit of every element, such as "rad"; "1" for pure numbers.
        frame: frame the numbers are expressed in: "world", "body", "joint", "" when it has none.
        read: simulation side: State -> (num_envs, size).
        low, high: bounds outside which the guard refuses a measurement.
        max_age_s: age above which the guard treats the signal as stale.
        rate_hz: how often the robot is meant to measure it; 0 means the control rate. Information for the robot side:
            nothing enforces it, `max_age_s` is what the guard enforces.
        noise_std: standard deviation of the noise added in training, in the signal's unit.
        delay_s: smallest and largest delay; drawn per episode, rounded to control steps.
    """

    name: str
    components: tuple[str, ...]
    unit: str
    frame: str
    read: Callable[[State], Tensor]
    low: float
    high: float
    max_age_s: float
    rate_hz: float = 0.0
    noise_std: float = 0.0
    delay_s: tuple[float, float] = (0.0, 0.0)

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.components)


@dataclass(frozen=True)
class Feature:
    """One slice of the observation: a pure torch function of signals and memory, exported inside the graph.

    Attributes:
        name: the slice's name.
        size: its width.
        func: (signals, memory) -> (num_envs, size) float32; only operations that ONNX has.
    """

    name: str
    size: int
    func: Callable[[Signals, Memory], Tensor]


@dataclass(frozen=True)
class MemoryTerm:
    """State that the policy carries from one control step to the next, explicit in the exported graph.

    Attributes:
        name: such as "previous_action".
        size: its width.
        initial: value of every element after a reset, unless `initial_signal` is given.
        initial_signal: measured signal whose first value after a reset this starts from, such as joint positions for
            a last command; its size is the term's size.
        update: (signals, memory, action, command) -> (num_envs, size); `action` is the clipped policy output in
            [-1, 1], `command` the physical command.
    """

    name: str
    size: int
    initial: float
    update: Callable[[Signals, Memory, Tensor, Tensor], Tensor]
    initial_signal: str = ""


def previous_action(size: int) -> MemoryTerm:
    """Memory of the last policy output, clipped to [-1, 1]."""
    return MemoryTerm("previous_action", size, 0.0, lambda signals, memory, action, command: action)


@dataclass(frozen=True, kw_only=True)
class Action:
    """How a policy output in [-1, 1] becomes a physical command.

    The command is `base + centre + half_range * clip(action, -1, 1)`, kept inside the limits' [low, high]. The base
    is zero, or for a delta the measured signal or the last command.

    Attributes:
        channels: one name per command channel, in command order; equal to the limits' channels.
        kind: what a command is, see `ActionKind`.
        unit: unit per channel.
        low, high: physical value at policy output -1 and +1, per channel.
        relative_to: "" for absolute commands, "measured" or "commanded" for deltas.
        signal: the measured signal a delta is added to; one element per channel.
        apply: simulation side: writes `command` (num_envs, act_dim) into the engine's ctrl.
        noise_std: standard deviation of the noise added to the policy output in training.
        delay_s: smallest and largest delay of the command; drawn per episode, rounded to control steps.
    """

    channels: tuple[str, ...]
    kind: ActionKind
    unit: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    apply: Callable[[State, Tensor], None]
    relative_to: Literal["", "measured", "commanded"] = ""
    signal: str = ""
    noise_std: float = 0.0
    delay_s: tuple[float, float] = (0.0, 0.0)

    @property
    def size(self) -> int:
        """Number of command channels."""
        return len(self.channels)

    def to_command(self, action: Tensor, signals: Signals, memory: Memory, limits: Limits) -> Tensor:
        """Turn a policy output into a physical command; a pure torch function, exported inside the graph.

        Args:
            action: (num_envs, act_dim) float32, any range; it is clipped to [-1, 1].
            signals: the measured signals of this step.
            memory: must hold "commanded" when `relative_to` is "commanded".
            limits: bounds of the command.

        Returns:
            (num_envs, act_dim) float32 in the channels' units.
        """
        low, high = torch.tensor(self.low), torch.tensor(self.high)
        command = (low + high) / 2 + (high - low) / 2 * action.clamp(-1.0, 1.0)
        if self.relative_to == "measured":
            command = command + signals[self.signal]
        elif self.relative_to == "commanded":
            command = command + memory["commanded"]
        bounds = limits.channels
        lowest, highest = torch.tensor([b.low for b in bounds]), torch.tensor([b.high for b in bounds])
        return torch.minimum(torch.maximum(command, lowest), highest)

    def to_action(self, command: Tensor, signals: Signals, memory: Memory) -> Tensor:
        """The policy output whose command is `command`: to_command backwards.

        Args:
            command: (num_envs, act_dim) in the channels' units.
            signals, memory: of this control step.

        Returns:
            (num_envs, act_dim) float32, clipped to [-1, 1].
        """
        low, high = torch.tensor(self.low), torch.tensor(self.high)
        offset = command - (low + high) / 2
        if self.relative_to == "measured":
            offset = offset - signals[self.signal]
        elif self.relative_to == "commanded":
            offset = offset - memory["commanded"]
        return (offset / ((high - low) / 2)).clamp(-1.0, 1.0).to(torch.float32)
