"""Walker2d-v5: a planar two-legged walker; walk forward without falling."""

from __future__ import annotations

from torch import Tensor

from bedplate.tasks.gymnasium_v5 import models, running
from bedplate.tasks.spec import Feature, RewardTerm, State, Task, Termination

JOINTS = ("thigh_joint", "leg_joint", "foot_joint", "thigh_left_joint", "leg_left_joint", "foot_left_joint")
CONTROL_DT_S = 0.008
EPISODE_STEPS = 1000
HEIGHT_M = (0.8, 2.0)
MAX_PITCH_RAD = 1.0
MAX_VELOCITY = 10.0


def walker2d(forward_weight: float = 1.0, control_weight: float = 1e-3, reset_noise: float = 5e-3) -> Task:
    """Gymnasium's Walker2d-v5; success is a full episode without a fall.

    Args:
        forward_weight: reward per m/s and step.
        control_weight: cost per squared command and step.
        reset_noise: scale of the noise on the first position and velocity.
    """
    action, limits = models.torques(JOINTS, 1.0, CONTROL_DT_S)
    return Task(
        id="walker2d",
        description="Gymnasium Walker2d-v5: a planar two-legged walker",
        model=lambda: models.load("walker2d_v5.xml"),
        sim_dt_s=0.002,
        decimation=4,
        episode_length_s=EPISODE_STEPS * CONTROL_DT_S,
        signals=(
            models.joint_position(("rootz", "rooty", *JOINTS), first=1),
            models.joint_velocity(("rootx", "rootz", "rooty", *JOINTS)),
        ),
        features=(
            Feature("position", 8, lambda signals, memory: signals["joint_position"]),
            Feature(
                "velocity", 9, lambda signals, memory: signals["joint_velocity"].clamp(-MAX_VELOCITY, MAX_VELOCITY)
            ),
        ),
        action=action,
        limits=limits,
        current_fields=False,
        world=running.WORLD,
        update=running.track(lambda state: state.qpos[:, 0], is_up),
        rewards=(
            RewardTerm("forward", running.forward_speed, forward_weight, event=True),
            RewardTerm("healthy", running.healthy, 1.0, event=True),
            RewardTerm("control", models.control_cost, control_weight, event=True),
        ),
        terminations=(Termination("fell", running.fell),),
        events=(running.noisy_start(reset_noise, "uniform"),),
        success=running.still_up(EPISODE_STEPS),
        metrics={"distance_m": running.distance_m},
        tracked="torso",
        difficulty={"world": "a flat floor, the same in every episode"},
    )


def is_up(state: State) -> Tensor:
    """(num_envs,) bool: height and pitch in range."""
    height, pitch = state.qpos[:, 1], state.qpos[:, 2]
    return (height > HEIGHT_M[0]) & (height < HEIGHT_M[1]) & (pitch.abs() < MAX_PITCH_RAD)
