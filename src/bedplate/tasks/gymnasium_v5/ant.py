"""Ant-v5: a four-legged robot in space; run along x without falling, with the contact forces in the observation."""

from __future__ import annotations

import mujoco
import torch
from torch import Tensor

from bedplate.sim.contact_forces import add_contact_forces
from bedplate.tasks.gymnasium_v5 import models, running
from bedplate.tasks.spec import Feature, RewardTerm, Signal, State, Task, Termination

# in the order of the model's joints, and of its motors
JOINTS = tuple(f"{joint}_{leg}" for leg in (1, 2, 3, 4) for joint in ("hip", "ankle"))
MOTORS = tuple(f"{joint}_{leg}" for leg in (4, 1, 2, 3) for joint in ("hip", "ankle"))
TORSO = 1
NUM_BODIES = 13
CONTROL_DT_S = 0.05
EPISODE_STEPS = 1000
HEIGHT_M = (0.2, 1.0)


def ant(
    forward_weight: float = 1.0,
    control_weight: float = 0.5,
    contact_weight: float = 5e-4,
    reset_noise: float = 0.1,
) -> Task:
    """Gymnasium's Ant-v5; success is a full episode without a fall.

    Args:
        forward_weight: reward per m/s and step.
        control_weight: cost per squared command and step.
        contact_weight: cost per squared contact force, each clipped to [-1, 1], and step.
        reset_noise: scale of the noise on the first position and velocity.
    """
    action, limits = models.torques(MOTORS, 1.0, CONTROL_DT_S)
    contact_force = Signal(
        name="contact_force",
        components=tuple(f"body_{b}_{axis}" for b in range(1, NUM_BODIES + 1) for axis in _WRENCH),
        unit="N m, N",
        frame="world",
        read=lambda state: state.cfrc_ext[:, 1:].flatten(1),
        low=-1e6,
        high=1e6,
        max_age_s=0.1,
    )
    return Task(
        id="ant",
        description="Gymnasium Ant-v5: a four-legged robot",
        model=build_model,
        sim_dt_s=0.01,
        decimation=5,
        episode_length_s=EPISODE_STEPS * CONTROL_DT_S,
        signals=(
            models.joint_position(("root_z", "root_qw", "root_qx", "root_qy", "root_qz", *JOINTS), first=2),
            models.joint_velocity(("root_vx", "root_vy", "root_vz", "root_wx", "root_wy", "root_wz", *JOINTS)),
            contact_force,
        ),
        features=(
            Feature("position", 13, lambda signals, memory: signals["joint_position"]),
            Feature("velocity", 14, lambda signals, memory: signals["joint_velocity"]),
            Feature("contact", 6 * NUM_BODIES, lambda signals, memory: signals["contact_force"].clamp(-1.0, 1.0)),
        ),
        action=action,
        limits=limits,
        fields=("xpos", "cfrc_ext"),
        current_fields=False,
        world=running.WORLD,
        update=running.track(lambda state: state.xpos[:, TORSO, 0], is_up),
        rewards=(
            RewardTerm("forward", running.forward_speed, forward_weight, event=True),
            RewardTerm("healthy", running.healthy, 1.0, event=True),
            RewardTerm("control", models.control_cost, control_weight, event=True),
            RewardTerm("contact", contact_cost, contact_weight, event=True),
        ),
        terminations=(Termination("fell", running.fell),),
        events=(running.noisy_start(reset_noise, "normal"),),
        success=running.still_up(EPISODE_STEPS),
        metrics={"distance_m": running.distance_m},
        tracked="torso",
        difficulty={"world": "a flat floor, the same in every episode"},
    )


_WRENCH = ("torque_x", "torque_y", "torque_z", "force_x", "force_y", "force_z")


def build_model() -> mujoco.MjSpec:
    """Gymnasium's ant, with contact forces computed after each substep."""
    spec = models.load("ant.xml")
    add_contact_forces(spec, "torso")
    return spec


def is_up(state: State) -> Tensor:
    """(num_envs,) bool: the torso's height in range, and nothing non-finite."""
    height = state.qpos[:, 2]
    finite = torch.isfinite(state.qpos.sum(dim=1) + state.qvel.sum(dim=1))
    return (height >= HEIGHT_M[0]) & (height <= HEIGHT_M[1]) & finite


def contact_cost(state: State) -> Tensor:
    """(num_envs,) minus the sum of the squared contact forces, each clipped to [-1, 1]."""
    return -state.cfrc_ext.flatten(1).clamp(-1.0, 1.0).square_().sum(dim=1)
