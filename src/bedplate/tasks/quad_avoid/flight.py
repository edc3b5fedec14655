"""What the quadrotor measures, and how thrust and body rates reach its actuators."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bedplate.tasks.spec import Memory, Signals
from bedplate.tasks.state import State

BODY = 1
"""Of the drone, in the model."""

RADIUS_M = 0.069
"""Centre to propeller tip: 46 mm arm and 23 mm propeller."""

MASS_KG = 0.0319
HOVER_N = MASS_KG * 9.81
THRUST_N = (0.12, 0.5058)
"""Collective thrust that leaves every rotor room for any torque; its middle hovers. See robots/quad/quad.xml."""

RATE_RAD_S = 4.0
YAW_RATE_RAD_S = 3.0
RANGE_M = 4.0
"""Range of the time-of-flight sensors (ST VL53L1X and VL53L5CX data sheets)."""

SPEED_M_S = 2.0
"""Scale of velocities in the observation; not a limit."""


def fan_angles(num_rays: int) -> Tensor:
    """(num_rays,) float32 rad: bearings of the range fan, counter-clockwise from straight behind."""
    return torch.arange(num_rays) * (2 * math.pi / num_rays) - math.pi


def rotation(state: State) -> Tensor:
    """(num_envs, 3, 3) float64: columns are the body axes in the world frame."""
    return state.xmat[:, BODY].view(-1, 3, 3)


def in_body(state: State, vector: Tensor) -> Tensor:
    """A world-frame vector (num_envs, 3) in the body frame."""
    return torch.einsum("nij,ni->nj", rotation(state), vector)


def velocity(state: State) -> Tensor:
    """(num_envs, 3) m/s, body frame: what the optical-flow estimator gives."""
    return in_body(state, state.qvel[:, :3])


def gyro(state: State) -> Tensor:
    """(num_envs, 3) rad/s, body frame; MuJoCo keeps a free joint's angular velocity in the body frame."""
    return state.qvel[:, 3:6]


def gravity(state: State) -> Tensor:
    """(num_envs, 3) unit vector of gravity in the body frame: (0, 0, -1) when level."""
    return -rotation(state)[:, 2]


def height(state: State) -> Tensor:
    """(num_envs, 1) m, measured along the body's own down axis."""
    return state.rays["down"]


def goal(state: State) -> Tensor:
    """(num_envs, 3) m: from the drone to the goal, in the level frame that turns with its heading."""
    offset = state.world["goal"] - state.qpos[:, :3]
    forward = rotation(state)[:, :2, 0]
    cos, sin = (forward / forward.norm(dim=1, keepdim=True).clamp(min=1e-6)).unbind(dim=1)
    ahead = offset[:, 0] * cos + offset[:, 1] * sin
    left = offset[:, 1] * cos - offset[:, 0] * sin
    return torch.stack([ahead, left, offset[:, 2]], dim=1)


def fly(state: State, command: Tensor) -> None:
    """Write thrust (N) and body rates (rad/s) to the actuators, and the wind in body axes to the drag elements."""
    state.ctrl[:, :4] = command
    state.ctrl[:, 4:7] = in_body(state, state.world["wind"])


def closeness(signals: Signals, memory: Memory) -> Tensor:
    """Resolves the last half metre before contact, where a linear scale is flat."""
    return torch.exp((RADIUS_M - signals["range"]) / 0.4)


def level_velocity(signals: Signals) -> Tensor:
    """(num_envs, 2) m/s ahead and to the left: the body velocity with pitch and roll, read from gravity, taken out."""
    gx, gy, gz = signals["gravity"].unbind(dim=1)
    vx, vy, vz = signals["velocity"].unbind(dim=1)
    cos_pitch = torch.sqrt(gy * gy + gz * gz + 1e-6)
    sin_roll, cos_roll = -gy / cos_pitch, -gz / cos_pitch
    ahead = vx * cos_pitch + (vy * sin_roll + vz * cos_roll) * gx
    return torch.stack([ahead, vy * cos_roll - vz * sin_roll], dim=1)


def closing(signals: Signals, memory: Memory) -> Tensor:
    """Speed towards what each ray sees, weighted by how near that is."""
    angles = fan_angles(signals["range"].shape[1])
    directions = torch.stack([torch.cos(angles), torch.sin(angles)])
    return level_velocity(signals) @ directions / SPEED_M_S * closeness(signals, memory)


def goal_direction(signals: Signals, memory: Memory) -> Tensor:
    """Unit vector to the goal, and its distance on a near and on a far scale."""
    offset = signals["goal"]
    distance = torch.sqrt((offset * offset).sum(dim=1, keepdim=True) + 1e-6)
    return torch.cat([offset / distance, distance.clamp(max=RANGE_M) / RANGE_M, distance / 8.0], dim=1)


def altitude(signals: Signals, memory: Memory) -> Tensor:
    """Height above the floor: the slant range times the cosine of the tilt."""
    return -signals["height"] * signals["gravity"][:, 2:3]
