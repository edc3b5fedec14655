"""What Hopper-v5 and Walker2d-v5 share: a planar robot that runs forward until it falls."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from bedplate.tasks.gymnasium_v5 import models, running
from bedplate.tasks.spec import Feature, RewardTerm, State, Task, Termination

CONTROL_DT_S = 0.008
EPISODE_STEPS = 1000
MAX_VELOCITY = 10.0


def planar_runner(
    name: str,
    description: str,
    model_file: str,
    joints: tuple[str, ...],
    is_up: Callable[[State], Tensor],
    forward_weight: float,
    control_weight: float,
    reset_noise: float,
) -> Task:
    """A planar runner; success is a full episode without a fall.

    Args:
        name: id of the task.
        description: one line for tables.
        model_file: of Gymnasium's assets.
        joints: the driven joints, in order.
        is_up: State -> (num_envs,) bool: it has not fallen.
        forward_weight: reward per m/s and step.
        control_weight: cost per squared command and step.
        reset_noise: scale of the noise on the first position and velocity.
    """
    action, limits = models.torques(joints, 1.0, CONTROL_DT_S)
    return Task(
        id=name,
        description=description,
        model=lambda: models.load(model_file),
        sim_dt_s=0.002,
        decimation=4,
        episode_length_s=EPISODE_STEPS * CONTROL_DT_S,
        signals=(
            models.joint_position(("rootz", "rooty", *joints), first=1),
            models.joint_velocity(("rootx", "rootz", "rooty", *joints)),
        ),
        features=(
            Feature("position", 2 + len(joints), lambda signals, memory: signals["joint_position"]),
            Feature(
                "velocity",
                3 + len(joints),
                lambda signals, memory: signals["joint_velocity"].clamp(-MAX_VELOCITY, MAX_VELOCITY),
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
