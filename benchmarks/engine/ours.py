"""The ceiling, the raw batch, and our engine with observation and reward; all three start from the same worlds."""

from __future__ import annotations

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch

from bedplate.envs.vec_env import TaskVecEnv
from bedplate.sim.threads import usable_cores
from bedplate.tasks.spec import Task
from benchmarks.engine.contestant import Actions


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
    """One loop of mj_step in C per core, all at once, each on its own world; controls are known beforehand."""

    name = "ceiling: C mj_step loop per core"

    def __init__(self, task: Task, engine: BedplateEngine, steps_per_call: int = 32) -> None:
        # several worlds per core, one after the other, so that cores end at nearly the same time
        cores = usable_cores()
        worlds = 8 * cores
        self.num_envs = worlds * steps_per_call
        self.note = f"{cores} threads"
        self._engine = engine.env.engine
        self._batch = Batch(plain_model(task), worlds, cores)
        self._nstep = steps_per_call * task.decimation
        high = np.asarray(task.action.high)
        control = np.random.default_rng(0).uniform(-high, high, (worlds, steps_per_call, task.act_dim))
        # each control is held for a control step
        self._control = np.repeat(control, task.decimation, axis=1)
        self._turn = np.arange(worlds)
        self._out: dict[str, np.ndarray] | None = None

    def prepare(self) -> None:
        """Nothing: each step() takes over other worlds of our engine."""

    def step(self) -> None:
        """`steps_per_call` control steps of some worlds of our engine, other ones each time."""
        self._turn = (self._turn + len(self._turn)) % self._engine.num_envs
        np.copyto(self._batch.state, self._engine.batch.state[self._turn])
        self._out = self._batch.rollout(self._nstep, self._control, record=("qvel",), out=self._out)

    def close(self) -> None:
        """Drop the batch."""
        del self._batch


def plain_model(task: Task) -> mujoco.MjModel:
    """The task's model without plugins: what a user of MuJoCo alone would step."""
    spec = task.model()
    for plugin in list(spec.plugins):
        spec.delete(plugin)
    spec.option.timestep = task.sim_dt_s
    return spec.compile()
