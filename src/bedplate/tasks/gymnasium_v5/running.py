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
WORLD = {"x_m": 1, "x_velocity_m_s": 1, "healthy": 1}


def track(
    read_x_m: Callable[[State], Tensor], read_healthy: Callable[[State], Tensor] | None = None
) -> Callable[[State], None]:
    """A Task.update for the numbers that several terms read: forward speed, and whether the robot is up.

    Args:
        read_x_m: the forward position (num_envs,), in metres.
        read_healthy: (num_envs,) bool; None for a robot that cannot fall.
    """

    def update(state: State) -> None:
        before, now = state.world["x_m"], read_x_m(state)[:, None]
        torch.div(now - before, state.control_dt_s, out=state.world["x_velocity_m_s"])
        before.copy_(now)
        if read_healthy is not None:
            state.world["healthy"][:, 0] = read_healthy(state)

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


def healthy(state: State) -> Tensor:
    """(num_envs,) one where the robot is up, zero where it fell; read in Task.update."""
    return state.world["healthy"][:, 0]


def fell(state: State) -> Tensor:
    """(num_envs,) bool: the robot is no longer up."""
    return state.world["healthy"][:, 0] == 0.0


def still_up(episode_steps: int) -> Callable[[State], Tensor]:
    """A Task.success: the episode ran its full length without a fall."""
    return lambda state: (state.step_count >= episode_steps) & ~fell(state)
