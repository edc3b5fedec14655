"""Measured signals: what the simulator reads, with noise and delay, as the robot would see it."""

from __future__ import annotations

import torch
from torch import Tensor

from bedplate.envs.delay import DelayLine, to_steps
from bedplate.tasks.spec import Signal
from bedplate.tasks.state import State


class Sensing:
    """All signals of a task on all worlds.

    Args:
        signals: the task's signals.
        num_envs: number of worlds.
        control_dt_s: control period, for delays.
        disturbed: apply noise and delay; without it signals are exact.
        generator: source of noise and delays.
    """

    def __init__(
        self,
        signals: tuple[Signal, ...],
        num_envs: int,
        control_dt_s: float,
        disturbed: bool,
        generator: torch.Generator,
    ) -> None:
        self.signals = signals
        self.generator = generator
        self.values = {s.name: torch.zeros(num_envs, s.size) for s in signals}
        self._noise = {s.name: s.noise_std if disturbed else 0.0 for s in signals}
        self._delays: dict[str, DelayLine] = {}
        for signal in signals:
            steps = to_steps(signal.delay_s, control_dt_s)
            if disturbed and steps[1] > 0:
                self._delays[signal.name] = DelayLine(num_envs, signal.size, steps, generator)

    def measure(self, state: State) -> dict[str, Tensor]:
        """Read every signal on every world; returns fresh tensors, name -> (num_envs, size) float32."""
        self.values = {}
        for signal in self.signals:
            value = self._noisy(signal, signal.read(state))
            delay = self._delays.get(signal.name)
            self.values[signal.name] = delay.push(value) if delay else value
        return self.values

    def restart(self, state: State, ids: Tensor) -> None:
        """Read the worlds `ids` (n,) anew after their reset; their delayed past is their present."""
        for signal in self.signals:
            value = self._noisy(signal, signal.read(state)[ids])
            delay = self._delays.get(signal.name)
            if delay:
                delay.reset(ids, value)
            self.values[signal.name][ids] = value

    def _noisy(self, signal: Signal, exact: Tensor) -> Tensor:
        # a copy: `exact` may be a live view of the engine
        value = exact.to(torch.float32, copy=True)
        noise = self._noise[signal.name]
        if noise:
            value += noise * torch.randn(value.shape, generator=self.generator)
        return value
