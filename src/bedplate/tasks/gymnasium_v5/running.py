"""What the running robots share: forward speed between two control steps, and noisy starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bedplate.tasks.gymnasium_v5.models import uniform
from bedplate.tasks.spec import Event, State

# per-world numbers of every running task
WORLD = {"x_m": 1, "x_velocity_m_s": 1}


def track_speed(read_x_m: Callable[[State], Tensor]) -> Callable[[State], None]:
    """A Task.update that keeps the forward speed over the last control step, from a position (num_envs,)."""

    def update(state: State) -> None:
        before, now = state.world["x_m"], read_x_m(state)[:, None]
        torch.div(now - before, state.control_dt_s, out=state.world["x_velocity_m_s"])
        before.copy_(now)

    return update


def forward_speed(state: State) -> Tensor:
    """(num_envs,) forward speed in metres per second."""
    return state.world["x_velocity_m_s"][:, 0]


def distance_m(state: State) -> Tensor:
    """(num_envs,) distance run from the origin, in metres."""
    return state.world["x_m"][:, 0]


def noisy_start(scale: float, velocity: Literal["normal", "uniform"]) -> Event:
    """The start of an episode: the model's pose with uniform noise, and noise of the same scale on velocities."""

    def func(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
        qpos, qvel = state.qpos.numpy(), state.qvel.numpy()
        qpos[ids] += uniform(rng, scale, ids, qpos.shape[1])
        if velocity == "normal":
            qvel[ids] = scale * rng.standard_normal((len(ids), qvel.shape[1]))
        else:
            qvel[ids] = uniform(rng, scale, ids, qvel.shape[1])
        state.world["x_m"].numpy()[ids, 0] = qpos[ids, 0]

    return Event("start", func, ranges={"scale": scale, "velocity": velocity}, randomisation=False)


def still_up(state: State, healthy: Tensor, episode_steps: int) -> Tensor:
    """(num_envs,) bool: the episode ran its full length without a fall."""
    return healthy & (state.step_count >= episode_steps)
