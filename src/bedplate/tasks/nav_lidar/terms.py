"""The robot's dimensions, what the navigation task reads and commands, and how it judges."""

from __future__ import annotations

import torch
from torch import Tensor

from bedplate.tasks.spec import State
from bedplate.tasks.terms import point_goal
from bedplate.tasks.terms.rewards import proximity

WHEEL_RADIUS_M = 0.038
WHEEL_BASE_M = 0.230
SPEED_M_S = 0.65
TURN_RAD_S = 2.5
LIDAR_M = 3.5
GOAL_M = 0.3


def reached_goal(state: State) -> Tensor:
    """Whether the robot's centre is within the goal radius and its hull touches nothing."""
    return point_goal.within(state, GOAL_M) & ~collided(state)


def collided(state: State) -> Tensor:
    """Whether the hull touches an obstacle or a wall."""
    return state.world["gap"][:, 0] < 0.0


def tipped(state: State) -> Tensor:
    """Whether the base leans by more than 25 degrees: no driving brings it there, and the lidar sees nothing then."""
    x, y = state.qpos[:, 4], state.qpos[:, 5]
    return 1 - 2 * (x * x + y * y) < 0.9


def yaw(state: State) -> Tensor:
    """(num_envs,) heading in rad, world frame."""
    w, x, y, z = state.qpos[:, 3:7].unbind(dim=1)
    return torch.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def forward_speed(state: State) -> Tensor:
    """(num_envs, 1) speed along the heading in m/s; a free joint's linear velocity is in the world frame."""
    heading = yaw(state)
    speed = state.qvel[:, 0] * torch.cos(heading) + state.qvel[:, 1] * torch.sin(heading)
    return speed[:, None]


def yaw_rate(state: State) -> Tensor:
    """(num_envs, 1) turning speed in rad/s; a free joint's angular velocity is in the body frame."""
    return state.qvel[:, 5:6]


def drive(state: State, command: Tensor) -> None:
    """Wheel speeds of a differential drive: (v -+ w * base / 2) / radius."""
    forward, turn = command[:, 0], command[:, 1]
    state.ctrl[:, 0] = (forward - turn * WHEEL_BASE_M / 2) / WHEEL_RADIUS_M
    state.ctrl[:, 1] = (forward + turn * WHEEL_BASE_M / 2) / WHEEL_RADIUS_M


def too_close(state: State) -> Tensor:
    """Minus one at contact, a third of it 0.12 m away."""
    return proximity(state.world["gap"][:, 0], 0.12)
