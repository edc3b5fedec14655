"""Walker2d-v5: a planar two-legged walker; walk forward without falling."""

from __future__ import annotations

from torch import Tensor

from bedplate.tasks.gymnasium_v5.planar import planar_runner
from bedplate.tasks.spec import State, Task

JOINTS = ("thigh_joint", "leg_joint", "foot_joint", "thigh_left_joint", "leg_left_joint", "foot_left_joint")
HEIGHT_M = (0.8, 2.0)
MAX_PITCH_RAD = 1.0


def walker2d(forward_weight: float = 1.0, control_weight: float = 1e-3, reset_noise: float = 5e-3) -> Task:
    """Gymnasium's Walker2d-v5; success is a full episode without a fall.

    Args:
        forward_weight: reward per m/s and step.
        control_weight: cost per squared command and step.
        reset_noise: scale of the noise on the first position and velocity.
    """
    return planar_runner(
        "walker2d",
        "Gymnasium Walker2d-v5: a planar two-legged walker",
        "walker2d_v5.xml",
        JOINTS,
        is_up,
        forward_weight,
        control_weight,
        reset_noise,
    )


def is_up(state: State) -> Tensor:
    """(num_envs,) bool: height and pitch in range."""
    height, pitch = state.qpos[:, 1], state.qpos[:, 2]
    return (height > HEIGHT_M[0]) & (height < HEIGHT_M[1]) & (pitch.abs() < MAX_PITCH_RAD)
