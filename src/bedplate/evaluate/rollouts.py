"""Exactly N episodes on worlds never trained on, without bias to short ones.

Every world is one environment, and only its first episode counts. Counting whichever N episodes end first would favour
short ones (quick successes and early crashes) and lose the time-outs; here each world is counted once, however long it
takes. All worlds run side by side until the last one has ended; what finished worlds do after that is ignored.
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
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Task

MAX_WORLDS = 512
"""Worlds simulated at once; more episodes run in several batches."""

Progress = Callable[[int, int], None]
"""(finished episodes, all episodes)."""


class Observer(Protocol):
    """Looks on while worlds run."""

    def attach(self, env: TaskVecEnv) -> None:
        """Called before the first reset, so that fields can be asked for."""
        ...

    def see(self, env: TaskVecEnv, running: np.ndarray) -> None:
        """Called before each control step; `running` (num_envs,) bool marks worlds in their counted episode."""
        ...

    def close(self, env: TaskVecEnv, episodes: Sequence[Episode]) -> None:
        """Called when all episodes have ended; `episodes` in world order."""
        ...


@dataclass(frozen=True)
class Worlds:
    """Which worlds are run, and how.

    Attributes:
        episodes: how many, one world each.
        seed: of the evaluation worlds; batch k of MAX_WORLDS uses seed + k.
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
        observer: looks on at the first batch.
        progress: told how many episodes have ended.

    Raises:
        BedplateError: the controller gives an action that is not finite and no guard is in the loop.
    """
    episodes: list[Episode] = []
    use: GuardUse | None = None
    for batch, start in enumerate(range(0, worlds.episodes, MAX_WORLDS)):
        size = min(MAX_WORLDS, worlds.episodes - start)
        env = TaskVecEnv(task, size, worlds.seed + batch, "evaluation", worlds.randomisation)
        try:
            bank = GuardBank(env, contract_of(task), guard) if guard is not None else None
            onlooker = observer if batch == 0 else None
            done = len(episodes)
            episodes += _run_batch(env, controller, bank, onlooker, lambda n, d=done: progress(d + n, worlds.episodes))
            if bank is not None:
                use = bank.use() if use is None else use + bank.use()
        finally:
            env.close()
    return Rollout(tuple(episodes), use)


@torch.no_grad()
def _run_batch(
    env: TaskVecEnv,
    controller: Controller,
    bank: GuardBank | None,
    observer: Observer | None,
    progress: Callable[[int], None],
) -> list[Episode]:
    """One batch of worlds to the end of their first episodes; returns them in world order."""
    running = np.ones(env.num_envs, bool)
    first: dict[int, Episode] = {}
    if observer is not None:
        observer.attach(env)
    controller.restart(env.num_envs)
    obs = env.reset()

    while running.any():
        if observer is not None:
            observer.see(env, running)
        action = controller.act(env, obs, running)
        if bank is not None:
            bank.running = running.copy()
            action = _without_nan(action, bank)
        step = env.step(action)
        obs = step.obs
        for episode in step.episodes:
            if running[episode.env_id]:
                running[episode.env_id] = False
                first[episode.env_id] = episode
        progress(len(first))

    episodes = [first[i] for i in range(env.num_envs)]
    if observer is not None:
        observer.close(env, episodes)
    return episodes


def _without_nan(action: Tensor, bank: GuardBank) -> Tensor:
    """Leave it to the guard to refuse what is not finite, as on the robot; the environment itself raises on it."""
    finite = torch.isfinite(action).all(dim=1)
    bank.refused = ~finite.numpy()
    return torch.where(finite[:, None], action, torch.zeros_like(action))
