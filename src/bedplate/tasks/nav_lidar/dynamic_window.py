"""A classical planner to measure the policy against: the dynamic window approach (Fox, Burgard, Thrun, 1997).

Every control step it rolls out a grid of speeds the robot can reach within a short time, drops those that would hit a
lidar return, and takes the best by progress, clearance and speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bedplate.tasks.nav_lidar.arena import RADIUS_M
from bedplate.tasks.nav_lidar.terms import LIDAR_M, SPEED_M_S, TURN_RAD_S, goal_offset
from bedplate.tasks.spec import Signals

FORWARD = 6
TURN = 15
"""Grid of candidate speeds."""

POINTS = 8
"""Positions looked at along each candidate's arc."""


@dataclass(frozen=True)
class DynamicWindow:
    """Lidar, position, heading and goal -> forward and turning speed.

    The defaults are the best of 120 trials on training worlds: see `benchmarks/tune_dynamic_window.py`.

    Attributes:
        horizon_s: how far ahead arcs are rolled out.
        margin_m: gap below which an arc counts as a collision.
        heading: weight of the direction to the goal at the arc's end.
        progress: weight of the distance gained.
        clearance: weight of the smallest gap, up to clearance_m.
        clearance_m: gap beyond which more room has no value.
        speed: weight of forward speed.
    """

    horizon_s: float = 2.149
    margin_m: float = 0.048
    heading: float = 0.113
    progress: float = 1.192
    clearance: float = 0.384
    clearance_m: float = 0.161
    speed: float = 0.773

    def __call__(self, signals: Signals) -> Tensor:
        """(num_envs, 2) float32 command in m/s and rad/s."""
        points = _returns(signals["scan"])
        goal = torch.stack(goal_offset(signals), dim=1)
        forward, turn = _grid()
        x, y, yaw = _arcs(forward, turn, self.horizon_s)

        # smallest gap along each arc, (num_envs, candidates): |a - b|^2 = |a|^2 - 2 a.b + |b|^2 in one product
        arcs = torch.stack([-2.0 * x.flatten(), -2.0 * y.flatten(), torch.ones(x.numel())], dim=1)
        returns = torch.cat([points, points.square().sum(dim=2, keepdim=True)], dim=2)
        nearest = (returns @ arcs.T).amin(dim=1) + (x * x + y * y).flatten()
        gap = nearest.clamp(min=0.0).sqrt().unflatten(1, x.shape).amin(dim=2) - RADIUS_M

        # value of each arc's end
        to_goal_x, to_goal_y = goal[:, None, 0] - x[None, :, -1], goal[:, None, 1] - y[None, :, -1]
        remaining = torch.sqrt(to_goal_x**2 + to_goal_y**2)
        gained = (goal.norm(dim=1, keepdim=True) - remaining) / (SPEED_M_S * self.horizon_s)
        off = torch.atan2(to_goal_y, to_goal_x) - yaw[None, :, -1]
        heading = torch.cos(off)
        room = gap.clamp(max=self.clearance_m) / self.clearance_m
        value = (
            self.progress * gained
            + self.heading * heading
            + self.clearance * room
            + self.speed * forward[None, :] / SPEED_M_S
        )

        # with nothing free, turn on the spot towards the freer side
        value = torch.where(gap > self.margin_m, value, value - 100.0 + gap)
        best = value.argmax(dim=1)
        return torch.stack([forward[best], turn[best]], dim=1)


def _grid() -> tuple[Tensor, Tensor]:
    forward = torch.linspace(0.0, SPEED_M_S, FORWARD)
    turn = torch.linspace(-TURN_RAD_S, TURN_RAD_S, TURN)
    pairs = torch.cartesian_prod(forward, turn)
    return pairs[:, 0], pairs[:, 1]


def _arcs(forward: Tensor, turn: Tensor, horizon_s: float) -> tuple[Tensor, Tensor, Tensor]:
    """(candidates, POINTS) positions and headings in the body frame, at equal times up to the horizon."""
    time = torch.linspace(horizon_s / POINTS, horizon_s, POINTS)
    yaw = turn[:, None] * time
    # exact arc; straight where the turn rate is zero
    straight = turn.abs() < 1e-6
    radius = forward / torch.where(straight, torch.ones_like(turn), turn)
    x = torch.where(straight[:, None], forward[:, None] * time, radius[:, None] * torch.sin(yaw))
    y = torch.where(straight[:, None], torch.zeros_like(yaw), radius[:, None] * (1.0 - torch.cos(yaw)))
    return x, y, yaw


def _returns(scan: Tensor) -> Tensor:
    """(num_envs, num_rays, 2) lidar returns in the body frame; a miss is put out of reach."""
    angle = torch.arange(scan.shape[1]) * (2 * math.pi / scan.shape[1]) - math.pi
    distance = torch.where(scan >= LIDAR_M - 0.02, torch.full_like(scan, 100.0), scan)
    return torch.stack([distance * torch.cos(angle), distance * torch.sin(angle)], dim=2)
