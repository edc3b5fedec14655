"""Reacher-v5: a planar two-joint arm; bring the fingertip to a target."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from bedplate.tasks.gymnasium_v5 import models
from bedplate.tasks.spec import Event, Feature, Memory, RewardTerm, Signal, Signals, State, Task

JOINTS = ("joint0", "joint1")
FINGERTIP, TARGET = 3, 4
CONTROL_DT_S = 0.02
EPISODE_STEPS = 50
TARGET_RADIUS_M = 0.2
REACHED_M = 0.02


def reacher(distance_weight: float = 1.0, control_weight: float = 1.0) -> Task:
    """Gymnasium's Reacher-v5; success is a fingertip within 2 cm of the target at the end.

    Args:
        distance_weight: cost per metre and step.
        control_weight: cost per squared command and step.
    """
    action, limits = models.torques(JOINTS, 1.0, CONTROL_DT_S)
    angle = Signal(
        name="joint_angle",
        components=JOINTS,
        unit="rad",
        frame="joint",
        read=_wrapped_angle,
        low=-math.pi - 1e-3,
        high=math.pi + 1e-3,
        max_age_s=0.1,
    )
    target = Signal(
        name="target",
        components=("x", "y"),
        unit="m",
        frame="world",
        read=lambda state: state.qpos[:, 2:4],
        low=-1.0,
        high=1.0,
        max_age_s=1.0,
    )
    offset = Signal(
        name="target_to_fingertip",
        components=("x", "y"),
        unit="m",
        frame="world",
        read=lambda state: _offset(state)[:, :2],
        low=-1.0,
        high=1.0,
        max_age_s=0.1,
    )
    return Task(
        id="reacher",
        description="Gymnasium Reacher-v5: a planar two-joint arm",
        model=lambda: models.load("reacher.xml"),
        sim_dt_s=0.01,
        decimation=2,
        episode_length_s=EPISODE_STEPS * CONTROL_DT_S,
        signals=(angle, target, models.joint_velocity(JOINTS), offset),
        features=(
            Feature("direction", 4, _direction),
            Feature("target", 2, lambda signals, memory: signals["target"]),
            Feature("velocity", 2, lambda signals, memory: signals["joint_velocity"]),
            Feature("offset", 2, lambda signals, memory: signals["target_to_fingertip"]),
        ),
        action=action,
        limits=limits,
        fields=("xpos",),
        current_fields=False,
        rewards=(
            RewardTerm("distance", lambda state: -distance_m(state), distance_weight, event=True),
            RewardTerm("control", models.control_cost, control_weight, event=True),
        ),
        terminations=(),
        events=(Event("start", _start, ranges={"target radius (m)": TARGET_RADIUS_M}, randomisation=False),),
        success=lambda state: distance_m(state) < REACHED_M,
        metrics={"distance_m": distance_m},
        tracked="fingertip",
        difficulty={"target": "uniform in a disc of 0.2 m", "reached": f"within {REACHED_M} m at the end"},
    )


def distance_m(state: State) -> Tensor:
    """(num_envs,) distance of the fingertip from the target, in metres."""
    return _offset(state).norm(dim=1)


def _offset(state: State) -> Tensor:
    return state.xpos[:, FINGERTIP] - state.xpos[:, TARGET]


def _wrapped_angle(state: State) -> Tensor:
    # in [-pi, pi): the first joint turns without end, and float32 would lose digits of large angles
    return torch.remainder(state.qpos[:, :2] + math.pi, 2 * math.pi) - math.pi


def _direction(signals: Signals, memory: Memory) -> Tensor:
    angle = signals["joint_angle"]
    return torch.cat([torch.cos(angle), torch.sin(angle)], dim=1)


def _start(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
    qpos, qvel = state.qpos.numpy(), state.qvel.numpy()
    qpos[ids] += models.uniform(rng, 0.1, ids, 4)
    qvel[ids, :2] = models.uniform(rng, 0.005, ids, 2)
    # a point in a square, drawn again until it is in the disc
    goal = models.uniform(rng, TARGET_RADIUS_M, ids, 2)
    while len(outside := np.nonzero(np.hypot(*goal.T) >= TARGET_RADIUS_M)[0]):
        goal[outside] = models.uniform(rng, TARGET_RADIUS_M, outside, 2)
    qpos[ids, 2:] = goal
