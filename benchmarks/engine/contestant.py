"""What takes part in the engine benchmark."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np

# how many batches of random actions are drawn beforehand and used in turn
NUM_BATCHES = 32


class Contestant(Protocol):
    """Something that makes environment steps under random actions.

    Attributes:
        name: row of the table.
        num_envs: environments that take part in one step().
        note: how it was set up.
    """

    name: str
    num_envs: int
    note: str

    def prepare(self) -> None:
        """Called before each timed slice."""
        ...

    def step(self) -> None:
        """Step each of num_envs environments once."""
        ...

    def close(self) -> None:
        """Release threads and processes."""
        ...


class Actions:
    """Random actions in [-1, 1], drawn beforehand so that nobody pays for them.

    Args:
        num_envs: rows of a batch.
        act_dim: columns of a batch.
        seed: of the draws.
    """

    def __init__(self, num_envs: int, act_dim: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._batches = rng.uniform(-1.0, 1.0, (NUM_BATCHES, num_envs, act_dim)).astype(np.float32)
        self._next = 0

    def batch(self) -> np.ndarray:
        """The next (num_envs, act_dim) float32 actions."""
        self._next = (self._next + 1) % NUM_BATCHES
        return self._batches[self._next]


def steps_per_s(contestant: Contestant, seconds: float) -> float:
    """Environment steps per second over a slice of at least `seconds`."""
    contestant.prepare()
    steps, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        contestant.step()
        steps += contestant.num_envs
    return steps / elapsed
