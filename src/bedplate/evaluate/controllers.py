"""What can be evaluated: a trained policy, an exported bundle, a classical baseline.

Each turns an environment's signals into policy outputs in [-1, 1], so that all meet the same noise, delay and guard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.spec import Signals

Baseline = Callable[[Signals], Tensor]
"""Measured signals -> physical command (num_envs, act_dim)."""


class Controller(Protocol):
    """Decides in every world at once."""

    def restart(self, env_ids: np.ndarray) -> None:
        """Forget what belongs to the environments `env_ids` (n,) int64: new episodes begin in them."""
        ...

    def act(self, env: TaskVecEnv, obs: Tensor, running: np.ndarray) -> Tensor:
        """Policy output (num_envs, act_dim) float32 for this control step.

        Only the worlds where `running` (num_envs,) bool is set count; the others may get anything.
        """
        ...


class BatchPolicy:
    """A policy network called once for all worlds.

    Args:
        predict: obs (num_envs, obs_dim) float32 -> action (num_envs, act_dim) float32, deterministic.
    """

    def __init__(self, predict: Callable[[Tensor], Tensor]) -> None:
        self._predict = predict

    def restart(self, env_ids: np.ndarray) -> None:
        """It keeps nothing between steps; memory belongs to the environment."""

    def act(self, env: TaskVecEnv, obs: Tensor, running: np.ndarray) -> Tensor:
        """See Controller.act."""
        return self._predict(obs)


class BaselinePolicy:
    """A classical controller that gives physical commands.

    Args:
        baseline: signals -> command.
    """

    def __init__(self, baseline: Baseline) -> None:
        self._baseline = baseline

    def restart(self, env_ids: np.ndarray) -> None:
        """A baseline is a function of the measured signals alone."""

    def act(self, env: TaskVecEnv, obs: Tensor, running: np.ndarray) -> Tensor:
        """See Controller.act."""
        # a classical controller may search: only the environments that count are asked
        rows = torch.from_numpy(running.nonzero()[0])
        command = env.state.command.clone()
        command[rows] = self._baseline({name: value[rows] for name, value in env.signals.items()}).to(command.dtype)
        return env.task.action.to_action(command, env.signals, env.memory)


class RuntimePolicy(Protocol):
    """What the robot runs: bedplate.runtime's policy, with its memory inside."""

    def reset(self) -> None:
        """A new episode begins."""
        ...

    def act(self, signals: dict[str, np.ndarray], sent: np.ndarray | None = None) -> np.ndarray:
        """Named signals in physical units, and the command sent last -> command (act_dim,) float64."""
        ...


class PerWorldPolicies:
    """The runtime's own policy, one per world: exactly what the robot runs, and slower than a batch.

    Args:
        make: builds one policy.
    """

    def __init__(self, make: Callable[[], RuntimePolicy]) -> None:
        self._make = make
        self._policies: dict[int, RuntimePolicy] = {}

    def restart(self, env_ids: np.ndarray) -> None:
        """See Controller.restart."""
        for i in env_ids.tolist():
            if i not in self._policies:
                self._policies[i] = self._make()
            self._policies[i].reset()

    def act(self, env: TaskVecEnv, obs: Tensor, running: np.ndarray) -> Tensor:
        """See Controller.act."""
        signals = {name: value.numpy() for name, value in env.signals.items()}
        sent, command = env.sent.numpy(), env.sent.numpy().copy()
        for i in running.nonzero()[0].tolist():
            command[i] = self._policies[i].act({name: value[i] for name, value in signals.items()}, sent[i])
        return env.task.action.to_action(torch.from_numpy(command), env.signals, env.memory)
