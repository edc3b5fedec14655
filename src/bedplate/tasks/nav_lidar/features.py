"""What the policy sees: pure torch functions of scan, odometry, pose and goal, exported inside its graph."""

from __future__ import annotations

import torch
from torch import Tensor

from bedplate.tasks.nav_lidar.arcs import arcs, gaps
from bedplate.tasks.nav_lidar.arena import RADIUS_M
from bedplate.tasks.nav_lidar.dynamic_window import DynamicWindow, goal_offset
from bedplate.tasks.nav_lidar.terms import LIDAR_M, SPEED_M_S, TURN_RAD_S
from bedplate.tasks.spec import Feature, Memory, Signals

ARCS = 15
"""Turning speeds looked at, all at full forward speed."""

AHEAD_S = 1.6
"""How far ahead along them."""

ROOM_M = 0.4
"""Gap beyond which more room is not told apart."""


def features(num_rays: int, planner: DynamicWindow) -> tuple[Feature, ...]:
    """The observation, in the order of its slices."""

    def planned(signals: Signals, memory: Memory) -> Tensor:
        return planner(signals) / torch.tensor([SPEED_M_S, TURN_RAD_S])

    return (
        Feature("scan", num_rays, lambda signals, memory: signals["scan"] / LIDAR_M),
        Feature("closeness", num_rays, closeness),
        Feature("goal", 4, goal_in_body),
        Feature("speed", 2, scaled_speed),
        Feature("previous_action", 2, lambda signals, memory: memory["previous_action"]),
        Feature("room", 2 * ARCS, room),
        Feature("planned", 2, planned),
    )


def closeness(signals: Signals, memory: Memory) -> Tensor:
    """(num_envs, num_rays) in (0, 1]: resolves the last half metre before contact, where a linear scale is flat."""
    return torch.exp((RADIUS_M - signals["scan"]) / 0.4)


def goal_in_body(signals: Signals, memory: Memory) -> Tensor:
    """(num_envs, 4) direction of the goal as a unit vector in the body frame, and its distance on two scales."""
    ahead, left = goal_offset(signals)
    distance = torch.sqrt(ahead * ahead + left * left + 1e-6)
    near = torch.clamp(distance, max=LIDAR_M) / LIDAR_M
    return torch.stack([ahead / distance, left / distance, near, distance / 10.0], dim=1)


def scaled_speed(signals: Signals, memory: Memory) -> Tensor:
    """(num_envs, 2) forward and turning speed as shares of the largest ones."""
    return torch.cat([signals["speed"] / SPEED_M_S, signals["yaw_rate"] / TURN_RAD_S], dim=1)


def room(signals: Signals, memory: Memory) -> Tensor:
    """(num_envs, 2 * ARCS) smallest gap along each arc, as a share of ROOM_M: of the first 0.6 s, then of all of it."""
    # in doubles: a distance is a small difference of large squares
    turn = torch.linspace(-TURN_RAD_S, TURN_RAD_S, ARCS, dtype=torch.float64)
    x, y, _ = arcs(torch.full_like(turn, SPEED_M_S), turn, AHEAD_S)
    gap = gaps(signals["scan"].double(), x, y)
    smallest = torch.cat([gap[:, :, :3].amin(dim=2), gap.amin(dim=2)], dim=1)
    return (smallest.clamp(-ROOM_M / 2, ROOM_M) / ROOM_M).float()
