"""From the policy's command to what reaches the physics: guard, actuator noise, delay, the drives' rate limits."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bedplate.envs.delay import DelayLine, to_steps
from bedplate.tasks.spec import Memory, Signals, Task

CommandFilter = Callable[[Tensor], Tensor]
"""Physical commands (num_envs, act_dim) -> the commands that go out instead."""


class Actuation:
    """The robot's side of an action, on all worlds.

    Args:
        task: its action and limits.
        num_envs: number of worlds.
        disturbed: apply the action's noise and delay.
        generator: source of noise and delays.

    Attributes:
        command_filter: called with each command before noise and delay; guards go here, where a robot has its guard.
        sent: (num_envs, act_dim) float32: what left the guard and the drives' rate limits last.
    """

    def __init__(self, task: Task, num_envs: int, disturbed: bool, generator: torch.Generator) -> None:
        self.command_filter: CommandFilter | None = None
        self.sent = torch.zeros(num_envs, task.act_dim)
        self._task = task
        self._generator = generator
        bounds = task.limits.channels
        self._low = torch.tensor([bound.low for bound in bounds])
        self._high = torch.tensor([bound.high for bound in bounds])

        # noise is given in the policy's units
        half_range = (torch.tensor(task.action.high) - torch.tensor(task.action.low)) / 2
        noise = task.action.noise_std if disturbed else 0.0
        self._noise = noise * half_range if noise else None

        # delay
        steps = to_steps(task.action.delay_s, task.control_dt_s) if disturbed else (0, 0)
        self._delay = DelayLine(num_envs, task.act_dim, steps, generator) if steps[1] else None

        # largest change in one control step; drives that may cross their whole range in one have no limit
        slew = torch.tensor([bound.rate_per_s * task.control_dt_s for bound in bounds])
        self._slew = slew if (slew < self._high - self._low).any() else None

    def send(self, command: Tensor) -> Tensor:
        """What reaches the physics now.

        Args:
            command: (num_envs, act_dim) float32 as the policy gave it.

        Returns:
            (num_envs, act_dim) float32.
        """
        # what goes out
        if self.command_filter is not None:
            command = self.command_filter(command)
        if self._slew is not None:
            command = torch.maximum(torch.minimum(command, self.sent + self._slew), self.sent - self._slew)
        self.sent = command

        # what arrives
        if self._noise is not None:
            noisy = command + self._noise * torch.randn(command.shape, generator=self._generator)
            command = torch.maximum(torch.minimum(noisy, self._high), self._low)
        return command if self._delay is None else self._delay.push(command)

    def restart(self, rows: Tensor, signals: Signals, memory: Memory) -> Tensor:
        """Start the worlds `rows` (n,) anew; returns the command (n, act_dim) they stand still under.

        Args:
            rows: worlds.
            signals, memory: of those worlds, after their reset.
        """
        safe = self._task.limits.safe_action
        if safe.mode == "hold":
            # holding a position is what a delta of zero commands; a position command holds what is measured
            zero = torch.zeros(len(rows), self._task.act_dim)
            still = self._task.action.to_command(zero, signals, memory, self._task.limits)
            for index, bound in enumerate(self._task.limits.channels):
                if bound.position is not None and not self._task.action.relative_to:
                    here = signals[bound.position.signal][:, bound.position.index]
                    still[:, index] = here.clamp(bound.low, bound.high)
        else:
            still = torch.tensor(safe.value).repeat(len(rows), 1)
        # a copy: what was sent may be held as what was commanded
        self.sent = self.sent.clone()
        self.sent[rows] = still
        if self._delay is not None:
            self._delay.reset(rows, still)
        return still
