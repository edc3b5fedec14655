"""The ceiling, the raw batch, and our engine with observation and reward; all three start from the same worlds."""

from __future__ import annotations

import threading
from collections.abc import Callable

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch

from bedplate.envs.vec_env import TaskVecEnv
from bedplate.sim.threads import usable_cores
from bedplate.tasks.spec import Task
from benchmarks.engine.contestant import NUM_BATCHES, Actions

STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class BedplateEngine:
    """TaskVecEnv: physics, observation, reward, terminations and resets."""

    name = "Bedplate TaskVecEnv"

    def __init__(self, task: Task, num_envs: int) -> None:
        self.num_envs = num_envs
        self.env = TaskVecEnv(task, num_envs)
        self.note = f"{num_envs} worlds, {self.env.engine.num_threads} threads"
        self.env.reset()
        self._actions = Actions(num_envs, task.act_dim)

    def prepare(self) -> None:
        """Worlds go on from where they are."""

    def step(self) -> None:
        """One control step of every world."""
        self.env.step(torch.from_numpy(self._actions.batch()))

    def close(self) -> None:
        """Release the engine."""
        self.env.close()


class RawBatch:
    """mujoco.batch.Batch alone: controls in, positions and velocities out, no observation, reward or reset."""

    name = "raw mujoco.batch"

    def __init__(self, task: Task, engine: BedplateEngine) -> None:
        self.num_envs = engine.num_envs
        self.note = f"{self.num_envs} worlds"
        self._engine = engine.env.engine
        model = plain_model(task)
        self._batch = Batch(model, self.num_envs, engine.env.engine.num_threads)
        self._ctrl = self._batch.bind("ctrl")
        self._decimation = task.decimation
        self._high = np.asarray(task.action.high)
        self._actions = Actions(self.num_envs, task.act_dim)

    def prepare(self) -> None:
        """Take over the worlds of our engine, so that both simulate the same situations."""
        np.copyto(self._batch.state, self._engine.batch.state)

    def step(self) -> None:
        """One control step of every world."""
        np.multiply(self._actions.batch(), self._high, out=self._ctrl)
        self._batch.step(nstep=self._decimation)

    def close(self) -> None:
        """Drop the batch."""
        del self._batch


class Ceiling:
    """One C mj_step loop per core, all at once, each on its own MjData with the GIL released."""

    name = "ceiling: C mj_step loop per core"

    def __init__(self, task: Task, engine: BedplateEngine, steps_per_call: int = 64) -> None:
        self._cores = usable_cores()
        self._calls = steps_per_call
        self.num_envs = self._cores * steps_per_call
        self.note = f"{self._cores} threads"
        self._engine = engine.env.engine
        self._model = plain_model(task)
        self._worlds = [mujoco.MjData(self._model) for _ in range(self._cores)]
        self._decimation = task.decimation
        high = np.asarray(task.action.high)
        self._controls = np.random.default_rng(0).uniform(-high, high, (NUM_BATCHES, task.act_dim))
        self._turn = 0

    def prepare(self) -> None:
        """Take over some worlds of our engine."""
        self._take_over()

    def step(self) -> None:
        """`steps_per_call` control steps on every core, from another world each time."""
        self._take_over()
        self._on_every_core(self._loop)

    def close(self) -> None:
        """Nothing is held."""

    def _take_over(self) -> None:
        for data in self._worlds:
            self._turn = (self._turn + 1) % self._engine.num_envs
            mujoco.mj_setState(self._model, data, self._engine.batch.state[self._turn], STATE)

    def _loop(self, data: mujoco.MjData) -> None:
        for call in range(self._calls):
            data.ctrl[:] = self._controls[call % NUM_BATCHES]
            mujoco.mj_step(self._model, data, nstep=self._decimation)

    def _on_every_core(self, loop: Callable[[mujoco.MjData], None]) -> None:
        threads = [threading.Thread(target=loop, args=(data,)) for data in self._worlds[1:]]
        for thread in threads:
            thread.start()
        loop(self._worlds[0])
        for thread in threads:
            thread.join()


def plain_model(task: Task) -> mujoco.MjModel:
    """The task's model without plugins: what a user of MuJoCo alone would step."""
    spec = task.model()
    for plugin in list(spec.plugins):
        spec.delete(plugin)
    spec.option.timestep = task.sim_dt_s
    return spec.compile()
