"""HalfCheetah-v5: a planar two-legged runner; run forward."""

from __future__ import annotations

import torch

from bedplate.tasks.gymnasium_v5 import models, running
from bedplate.tasks.spec import Feature, RewardTerm, Task

JOINTS = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
SPEED_M_S = 4.8
CONTROL_DT_S = 0.05


def half_cheetah(forward_weight: float = 1.0, control_weight: float = 0.1, reset_noise: float = 0.1) -> Task:
    """Gymnasium's HalfCheetah-v5.

    Success is a mean speed of 4.8 m/s: Gymnasium's reward threshold of 4800 over 1,000 steps, were control free.

    Args:
        forward_weight: reward per m/s and step.
        control_weight: cost per squared command and step.
        reset_noise: scale of the noise on the first position and velocity.
    """
    action, limits = models.torques(JOINTS, 1.0, CONTROL_DT_S)
    return Task(
        id="half_cheetah",
        description="Gymnasium HalfCheetah-v5: a planar two-legged runner",
        model=lambda: models.load("half_cheetah.xml"),
        sim_dt_s=0.01,
        decimation=5,
        episode_length_s=50.0,
        signals=(
            models.joint_position(("rootz", "rooty", *JOINTS), first=1),
            models.joint_velocity(("rootx", "rootz", "rooty", *JOINTS)),
        ),
        features=(
            Feature("position", 8, lambda signals, memory: signals["joint_position"]),
            Feature("velocity", 9, lambda signals, memory: signals["joint_velocity"]),
        ),
        action=action,
        limits=limits,
        current_fields=False,
        world=running.WORLD,
        update=running.track(lambda state: state.qpos[:, 0]),
        rewards=(
            RewardTerm("forward", running.forward_speed, forward_weight, event=True),
            RewardTerm("control", models.control_cost, control_weight, event=True),
        ),
        terminations=(),
        events=(running.noisy_start(reset_noise, "normal"),),
        success=lambda state: running.distance_m(state) >= SPEED_M_S * torch.clamp(state.time_s, min=1.0),
        metrics={"distance_m": running.distance_m},
        tracked="torso",
        difficulty={"world": "a flat floor, the same in every episode"},
    )
