"""What task terms read: batched, named views of all simulated worlds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bedplate.sim.engine import Engine


@dataclass
class State:
    """All worlds at one control step. Tensors are live: read them, and write only in events and in Action.apply.

    Engine fields are attributes under their MuJoCo names: `state.qpos` is (num_envs, nq) float64, and so on for
    every name in Task.fields.

    Attributes:
        engine: the physics; events use engine.expand(...) for per-world model fields.
        control_dt_s: time between two commands.
        world: the task's per-world numbers: name -> (num_envs, width) float64.
        world_id: (num_envs,) int64: seed of each world's layout; equal ids give equal worlds.
        action: (num_envs, act_dim) float32: last policy output, clipped to [-1, 1].
        previous_action: the one before it.
        command: (num_envs, act_dim) float32: last physical command, after noise, delay and guard.
        previous_command: the one before it.
        step_count: (num_envs,) int64: control steps since the reset.
    """

    engine: Engine
    control_dt_s: float
    world: dict[str, Tensor]
    world_id: np.ndarray
    action: Tensor
    previous_action: Tensor
    command: Tensor
    previous_command: Tensor
    step_count: Tensor

    @property
    def num_envs(self) -> int:
        """Number of worlds."""
        return self.engine.num_envs

    @property
    def rays(self) -> dict[str, Tensor]:
        """Ray sensor name -> (num_envs, num_rays) float64 distance in metres; the sensor's range for a miss."""
        return self.engine.rays

    @property
    def time_s(self) -> Tensor:
        """(num_envs,) float64: time since the reset."""
        return self.step_count.to(torch.float64) * self.control_dt_s

    def __getattr__(self, name: str) -> Tensor:
        # only called for names that are not attributes of State itself
        if name.startswith("_"):
            raise AttributeError(name)
        return self.engine.field(name)
