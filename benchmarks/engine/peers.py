"""The peers: Stable-Baselines3's and Gymnasium's vector environments, and EnvPool, each as its users set it up."""

from __future__ import annotations

import functools
import multiprocessing

import envpool
import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from bedplate.sim.threads import usable_cores
from benchmarks.engine import worker
from benchmarks.engine.contestant import Actions


class StableBaselines3:
    """DummyVecEnv or SubprocVecEnv."""

    def __init__(self, kind: type[VecEnv], env_id: str, num_envs: int) -> None:
        self.name = f"SB3 {kind.__name__}({num_envs})"
        self.num_envs = num_envs
        self.note = ""
        self._env = kind([functools.partial(worker.make, env_id)] * num_envs)
        self._env.reset()
        space = self._env.action_space
        assert isinstance(space, gymnasium.spaces.Box)
        self._actions = Actions(num_envs, space.shape[0])
        self._high = space.high

    def prepare(self) -> None:
        """Environments go on from where they are."""

    def step(self) -> None:
        """Step all environments."""
        self._env.step(self._actions.batch() * self._high)

    def close(self) -> None:
        """End the worker processes."""
        self._env.close()


class GymnasiumAsync:
    """Gymnasium's AsyncVectorEnv with shared memory, its default."""

    def __init__(self, env_id: str, num_envs: int) -> None:
        self.name = f"Gymnasium AsyncVectorEnv({num_envs})"
        self.num_envs = num_envs
        self.note = "shared memory"
        self._env = gymnasium.vector.AsyncVectorEnv(
            [functools.partial(worker.make, env_id)] * num_envs, context="forkserver"
        )
        self._env.reset()
        space = self._env.single_action_space
        assert isinstance(space, gymnasium.spaces.Box)
        self._actions = Actions(num_envs, space.shape[0])
        self._high = space.high

    def prepare(self) -> None:
        """Environments go on from where they are."""

    def step(self) -> None:
        """Step all environments."""
        self._env.step(self._actions.batch() * self._high)

    def close(self) -> None:
        """End the worker processes."""
        self._env.close()


class EnvPool:
    """EnvPool with one thread per core; synchronous, or asynchronous when `batch_size` is below `num_envs`."""

    def __init__(self, env_id: str, num_envs: int, batch_size: int) -> None:
        self._sync = batch_size == num_envs
        self.name = f"EnvPool sync({num_envs})" if self._sync else f"EnvPool async({num_envs}/{batch_size})"
        self.num_envs = batch_size
        self.note = f"{usable_cores()} threads"
        self._env = envpool.make(
            env_id, env_type="gymnasium", num_envs=num_envs, batch_size=batch_size, num_threads=usable_cores()
        )
        space = self._env.action_space
        self._actions = Actions(batch_size, space.shape[0])
        self._high = space.high
        if self._sync:
            self._env.reset()
        else:
            self._env.async_reset()

    def prepare(self) -> None:
        """Environments go on from where they are."""

    def step(self) -> None:
        """Step all environments, or the first `batch_size` that are ready."""
        action = (self._actions.batch() * self._high).astype(np.float64)
        if self._sync:
            self._env.step(action)
        else:
            env_ids = self._env.recv()[-1]["env_id"]
            self._env.send(action, env_ids)

    def close(self) -> None:
        """End the threads."""
        self._env.close()


def peers(env_id: str) -> list[StableBaselines3 | GymnasiumAsync | EnvPool]:
    """Every peer on one Gymnasium environment."""
    # imported once for all workers; the speed of a step is the same
    multiprocessing.set_forkserver_preload(["stable_baselines3.common.vec_env.subproc_vec_env", worker.__name__])
    return [
        StableBaselines3(DummyVecEnv, env_id, 8),
        StableBaselines3(SubprocVecEnv, env_id, 8),
        StableBaselines3(SubprocVecEnv, env_id, 32),
        GymnasiumAsync(env_id, 8),
        EnvPool(env_id, 64, 64),
        EnvPool(env_id, 96, 32),
    ]
