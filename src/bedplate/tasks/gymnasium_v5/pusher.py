"""Pusher-v5: a seven-joint arm; push a cylinder to a goal on the table."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from bedplate.tasks.gymnasium_v5 import models
from bedplate.tasks.spec import Event, Feature, RewardTerm, State, Task

JOINTS = (
    "r_shoulder_pan_joint",
    "r_shoulder_lift_joint",
    "r_upper_arm_roll_joint",
    "r_elbow_flex_joint",
    "r_forearm_roll_joint",
    "r_wrist_flex_joint",
    "r_wrist_roll_joint",
)
TIP, OBJECT, GOAL = 10, 11, 12
CONTROL_DT_S = 0.05
EPISODE_STEPS = 100
NEAREST_M = 0.17
GOAL_RADIUS_M = 0.08


def pusher(near_weight: float = 0.5, distance_weight: float = 1.0, control_weight: float = 0.1) -> Task:
    """Gymnasium's Pusher-v5; success is the cylinder's centre on the goal disc at the end.

    Args:
        near_weight: cost per metre between the tip and the cylinder, and step.
        distance_weight: cost per metre between the cylinder and the goal, and step.
        control_weight: cost per squared command and step.
    """
    action, limits = models.torques(JOINTS, 2.0, CONTROL_DT_S, unit="N m")
    places = tuple(f"{body}_{axis}" for body in ("tip", "object", "goal") for axis in "xyz")
    return Task(
        id="pusher",
        description="Gymnasium Pusher-v5: a seven-joint arm that pushes a cylinder",
        model=lambda: models.load("pusher_v5.xml"),
        sim_dt_s=0.01,
        decimation=5,
        episode_length_s=EPISODE_STEPS * CONTROL_DT_S,
        signals=(
            models.joint_position(JOINTS, first=0),
            models.joint_velocity(JOINTS),
            models.body_position("places", (TIP, OBJECT, GOAL), places),
        ),
        features=(
            Feature("position", 7, lambda signals, memory: signals["joint_position"]),
            Feature("velocity", 7, lambda signals, memory: signals["joint_velocity"]),
            Feature("places", 9, lambda signals, memory: signals["places"]),
        ),
        action=action,
        limits=limits,
        fields=("xpos",),
        current_fields=False,
        rewards=(
            RewardTerm("distance", lambda state: -goal_distance_m(state), distance_weight, event=True),
            RewardTerm("control", models.control_cost, control_weight, event=True),
            RewardTerm("near", lambda state: -tip_distance_m(state), near_weight, event=True),
        ),
        terminations=(),
        events=(Event("start", _start, ranges={"nearest to the goal (m)": NEAREST_M}, randomisation=False),),
        success=lambda state: goal_distance_m(state) < GOAL_RADIUS_M,
        metrics={"distance_m": goal_distance_m},
        tracked="tips_arm",
        difficulty={"cylinder": "at least 0.17 m from the goal", "success": "on the goal disc of 0.08 m at the end"},
    )


def tip_distance_m(state: State) -> Tensor:
    """(num_envs,) distance of the arm's tip from the cylinder, in metres."""
    return (state.xpos[:, OBJECT] - state.xpos[:, TIP]).norm(dim=1)


def goal_distance_m(state: State) -> Tensor:
    """(num_envs,) distance of the cylinder from the goal, in metres."""
    return (state.xpos[:, OBJECT] - state.xpos[:, GOAL]).norm(dim=1)


def _start(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
    qpos, qvel = state.qpos.numpy(), state.qvel.numpy()
    # a point in a rectangle, drawn again until it is far enough from the goal at the origin
    place = _draw(rng, len(ids))
    while len(near := np.nonzero(np.hypot(*place.T) <= NEAREST_M)[0]):
        place[near] = _draw(rng, len(near))
    qpos[ids, 7:9] = place
    qpos[ids, 9:] = 0.0
    qvel[ids, :7] = models.uniform(rng, 0.005, ids, 7)


def _draw(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform([-0.3, -0.2], [0.0, 0.2], (count, 2))
