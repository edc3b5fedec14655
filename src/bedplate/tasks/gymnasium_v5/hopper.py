"""Hopper-v5: a planar one-legged hopper; hop forward without falling."""

from __future__ import annotations

import torch
from torch import Tensor

from bedplate.tasks.gymnasium_v5.planar import planar_runner
from bedplate.tasks.spec import State, Task

JOINTS = ("thigh_joint", "leg_joint", "foot_joint")
MIN_HEIGHT_M = 0.7
MAX_PITCH_RAD = 0.2
MAX_STATE = 100.0


def hopper(forward_weight: float = 1.0, control_weight: float = 1e-3, reset_noise: float = 5e-3) -> Task:
    """Gymnasium's Hopper-v5; success is a full episode without a fall.

    Args:
        forward_weight: reward per m/s and step.
        control_weight: cost per squared command and step.
        reset_noise: scale of the noise on the first position and velocity.
    """
    return planar_runner(
        "hopper",
        "Gymnasium Hopper-v5: a planar one-legged hopper",
        "hopper.xml",
        JOINTS,
        is_up,
        forward_weight,
        control_weight,
        reset_noise,
    )


def is_up(state: State) -> Tensor:
    """(num_envs,) bool: high and upright enough, and no position or velocity out of bounds."""
    height, pitch = state.qpos[:, 1], state.qpos[:, 2]
    # the forward and the vertical position are exempt from the bound on the state
    largest = torch.maximum(state.qpos[:, 2:].abs().amax(dim=1), state.qvel.abs().amax(dim=1))
    return (height > MIN_HEIGHT_M) & (pitch.abs() < MAX_PITCH_RAD) & (largest < MAX_STATE)
