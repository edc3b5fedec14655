"""Exactly N episodes on worlds never trained on, without bias to short ones.

Which episodes count is fixed before the first step: episode k of environment i is world k * num_envs + i, and the
worlds below N count, however long they take. Counting whichever N episodes end first would favour short ones (quick
successes and early crashes) and lose the time-outs. What an environment does after its share is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from bedplate.bundle.contract import GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.envs.vec_env import Episode, TaskVecEnv
from bedplate.evaluate.controllers import Controller
from bedplate.evaluate.guarding import GuardBank, GuardUse
from bedplate.sim.threads import limit_torch_threads
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Task

MAX_ENVS = 128
"""Environments simulated at once. With several episodes each, short and long ones even out, and little is ignored."""

Progress = Callable[[int, int], None]
"""(finished episodes, all episodes)."""


class Observer(Protocol):
    """Looks on while worlds run."""

    def attach(self, env: TaskVecEnv) -> None:
        """Called before the first reset, so that fields can be asked for."""
        ...

    def see(self, env: TaskVecEnv, running: np.ndarray) -> None:
        """Called before each control step; `running` (num_envs,) bool marks environments in their first episode."""
        ...

    def close(self, env: TaskVecEnv, episodes: Sequence[Episode]) -> None:
        """Called when all episodes have ended; `episodes` in world order: the first ones of all environments first."""
        ...


@dataclass(frozen=True)
class Worlds:
    """Which worlds are run, and how.

    Attributes:
        episodes: how many, one world each.
        seed: of the evaluation worlds.
        randomisation: apply the task's randomisation, noise and delays.
    """

    episodes: int = 500
    seed: int = 0
    randomisation: bool = True

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise BedplateError(f"episodes is {self.episodes}", "at least 1")
        if self.seed < 0:
            raise BedplateError(f"seed is {self.seed}", "a whole number, 0 or more")


@dataclass(frozen=True)
class Rollout:
    """What happened.

    Attributes:
        episodes: one per world, in world order.
        guard: what the guards did; None when none was in the loop.
    """

    episodes: tuple[Episode, ...]
    guard: GuardUse | None


def run_worlds(
    task: Task,
    controller: Controller,
    worlds: Worlds,
    guard: GuardSettings | None,
    observer: Observer | None = None,
    progress: Progress = lambda finished, total: None,
) -> Rollout:
    """Run every world once.

    Args:
        task: what is simulated.
        controller: what decides.
        worlds: how many, and which.
        guard: settings of one guard per world, or None to run without.
        observer: looks on at the first episode of every environment.
        progress: told how many episodes have ended.

    Raises:
        BedplateError: the controller gives an action that is not finite and no guard is in the loop.
    """
    # the physics has the cores; small networks are faster on one
    limit_torch_threads(1)
    env = TaskVecEnv(task, min(worlds.episodes, MAX_ENVS), worlds.seed, "evaluation", worlds.randomisation)
    try:
        bank = GuardBank(env, contract_of(task), guard) if guard is not None else None
        episodes = _run(env, controller, worlds.episodes, bank, observer, progress)
    finally:
        env.close()
    return Rollout(episodes, bank.use() if bank is not None else None)


@torch.no_grad()
def _run(
    env: TaskVecEnv,
    controller: Controller,
    num_episodes: int,
    bank: GuardBank | None,
    observer: Observer | None,
    progress: Progress,
) -> tuple[Episode, ...]:
    """Run all environments until each has ended its share; returns the episodes in world order."""
    env_ids = np.arange(env.num_envs)
    share = (num_episodes - env_ids + env.num_envs - 1) // env.num_envs
    ended = np.zeros(env.num_envs, np.int64)
    by_world: dict[int, Episode] = {}
    if observer is not None:
        observer.attach(env)
    controller.restart(env_ids)
    obs = env.reset()

    while (running := ended < share).any():
        if observer is not None:
            observer.see(env, ended == 0)
        action = controller.act(env, obs, running)
        if bank is not None:
            bank.running = running
            action = _without_nan(action, bank)
        step = env.step(action)
        obs = step.obs
        for episode in step.episodes:
            i = episode.env_id
            if running[i]:
                by_world[int(ended[i]) * env.num_envs + i] = episode
                ended[i] += 1
                if bank is not None:
                    bank.renew(i)
        controller.restart(step.done_ids)
        progress(len(by_world), num_episodes)

    episodes = tuple(by_world[world] for world in range(num_episodes))
    if observer is not None:
        observer.close(env, episodes)
    return episodes


def _without_nan(action: Tensor, bank: GuardBank) -> Tensor:
    """Leave it to the guard to refuse what is not finite, as on the robot; the environment itself raises on it."""
    finite = torch.isfinite(action).all(dim=1)
    bank.refused = ~finite.numpy()
    return torch.where(finite[:, None], action, torch.zeros_like(action))
