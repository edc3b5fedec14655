"""A delay line for batched values: what was measured a few control steps ago."""

from __future__ import annotations

import torch
from torch import Tensor


class DelayLine:
    """Values come out a per-world number of steps after they went in.

    Args:
        num_envs: number of worlds.
        size: width of the value.
        delay_steps: smallest and largest delay, in control steps; drawn per world at its reset.
        generator: source of the draws.
    """

    def __init__(self, num_envs: int, size: int, delay_steps: tuple[int, int], generator: torch.Generator) -> None:
        self.low, self.high = delay_steps
        self.generator = generator
        self._ring = torch.zeros(self.high + 1, num_envs, size)
        self._steps = torch.zeros(num_envs, dtype=torch.int64)
        self._worlds = torch.arange(num_envs)
        self._head = 0

    def push(self, value: Tensor) -> Tensor:
        """Put in this step's value (num_envs, size); returns the delayed one, same shape."""
        depth = self.high + 1
        self._head = (self._head + 1) % depth
        self._ring[self._head] = value
        return self._ring[(self._head - self._steps) % depth, self._worlds]

    def reset(self, ids: Tensor, value: Tensor) -> None:
        """Draw new delays for the worlds `ids` (n,) and fill their past with `value` (n, size)."""
        self._steps[ids] = torch.randint(self.low, self.high + 1, (len(ids),), generator=self.generator)
        self._ring[:, ids] = value


def to_steps(delay_s: tuple[float, float], control_dt_s: float) -> tuple[int, int]:
    """A delay range in seconds as whole control steps."""
    return round(delay_s[0] / control_dt_s), round(delay_s[1] / control_dt_s)
